"""Store when each iteration ended, to compare methods over their computing time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("allocations", "0002_allocation_bounds")]

    operations = [
        migrations.AddField(
            model_name="allocation",
            name="moments",
            field=models.JSONField(
                default=list,
                help_text=(
                    "Pairs of iteration and seconds of computing until its end; "
                    "a job may lose them."
                ),
            ),
        ),
    ]
