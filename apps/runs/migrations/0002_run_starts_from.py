"""Let a run begin where another run's result left off."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_snapshots_and_runs")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="starts_from",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="+",
                to="runs.run",
            ),
        ),
    ]
