"""Store the best upper bound after each iteration, beside the utilities."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("allocations", "0001_allocations")]

    operations = [
        migrations.AddField(
            model_name="allocation",
            name="bounds",
            field=models.JSONField(default=list),
        ),
    ]
