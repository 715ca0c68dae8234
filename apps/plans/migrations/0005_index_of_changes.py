from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0004_index_of_changes"),
        ("plans", "0004_change_ticket"),
        ("runs", "0002_index_of_changes"),
        ("systems", "0002_external_ids_and_labels"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="plan",
            index=models.Index(fields=["updated_at"], name="plan_by_change"),
        ),
    ]
