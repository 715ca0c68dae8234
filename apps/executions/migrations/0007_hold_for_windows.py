"""Store from when on a maintenance window lets an execution begin no further step."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0006_numbers_rise"),
    ]

    operations = [
        migrations.AddField(
            model_name="execution",
            name="held",
            field=models.BooleanField(
                default=False, help_text="Paused by that; goes on when it ends."
            ),
        ),
        migrations.AddField(
            model_name="execution",
            name="hold_at",
            field=models.DateTimeField(help_text="From then on no further step begins.", null=True),
        ),
        migrations.AddField(
            model_name="execution",
            name="hold_because",
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AddField(
            model_name="execution",
            name="hold_overridden",
            field=models.BooleanField(
                default=False, help_text="An operator lets it go on in spite of it."
            ),
        ),
    ]
