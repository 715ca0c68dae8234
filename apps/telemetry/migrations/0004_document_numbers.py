"""Store which documents an agent was sent and has obeyed, and the place of its newest
observation."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0003_levels")]
    operations = [
        migrations.AddField(
            model_name="agent",
            name=name,
            field=models.PositiveBigIntegerField(default=0),
        )
        for name in ("report_sequence", "served_number", "obeyed_number")
    ]
