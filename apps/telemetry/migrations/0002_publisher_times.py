"""Store when publishers sent."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("telemetry", "0001_initial"),
        ("topology", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="PublisherTimes",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(help_text="When the agent's message was received.")),
                ("payload", models.BinaryField(help_text="As `domain.publisher_times` packs it.")),
                (
                    "unreported",
                    models.PositiveIntegerField(
                        help_text="Further publishers' connections of the broker, of which agents "
                        "report nothing."
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="publisher_times",
                        to="topology.broker",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["broker", "at"], name="publisher_times_by_broker"),
                    models.Index(fields=["at"], name="publisher_times_by_time"),
                ],
            },
        ),
    ]
