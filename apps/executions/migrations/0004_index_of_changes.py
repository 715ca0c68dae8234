from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0003_failed_by_time"),
        ("systems", "0002_external_ids_and_labels"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="execution",
            index=models.Index(fields=["updated_at"], name="execution_by_change"),
        ),
    ]
