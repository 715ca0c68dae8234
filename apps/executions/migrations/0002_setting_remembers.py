"""Store in a setting what was in force before, and when it changed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0001_executions")]

    operations = [
        migrations.AddField(
            model_name="setting",
            name="previous",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="setting",
            name="changed_at",
            field=models.DateTimeField(help_text="When `in_force` changed last.", null=True),
        ),
    ]
