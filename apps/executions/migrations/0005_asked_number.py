"""Store from which document on an observation can confirm what an action asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("executions", "0004_forget_settings_of_nothing")]
    operations = [
        migrations.AddField(
            model_name="setting",
            name="asked_number",
            field=models.PositiveBigIntegerField(
                default=0, help_text="Of the first document that asks for what is desired now."
            ),
        ),
        migrations.AddField(
            model_name="executionaction",
            name="asked_number",
            field=models.PositiveBigIntegerField(
                help_text="Of the first document that asks for what the action wants now.",
                null=True,
            ),
        ),
    ]
