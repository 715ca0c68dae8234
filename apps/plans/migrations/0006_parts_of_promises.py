from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("plans", "0005_index_of_changes")]

    operations = [
        migrations.AddField(
            model_name="verification",
            name="figures_before",
            field=models.JSONField(
                null=True,
                help_text="What was measured before of rates, consumers and the fullest place.",
            ),
        ),
        migrations.AddField(
            model_name="verification",
            name="window_s",
            field=models.PositiveIntegerField(
                db_default=300,
                default=300,
                help_text="How long is measured, before and after; as the policy was when it "
                "began.",
            ),
        ),
        migrations.AddField(
            model_name="verification",
            name="parts",
            field=models.JSONField(
                db_default=[],
                default=list,
                help_text="The parts of the promise, as they were judged; empty: not yet, or none.",
            ),
        ),
    ]
