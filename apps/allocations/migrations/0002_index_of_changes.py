from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocations", "0001_initial"),
        ("runs", "0002_index_of_changes"),
        ("systems", "0002_external_ids_and_labels"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="allocation",
            index=models.Index(fields=["updated_at"], name="allocation_by_change"),
        ),
    ]
