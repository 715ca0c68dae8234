import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0007_external_ids_and_labels"),
        ("pipeline", "0002_delays_at_gates"),
        ("systems", "0002_external_ids_and_labels"),
    ]

    operations = [
        migrations.CreateModel(
            name="ObjectiveTerm",
            fields=[
                (
                    "slo",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="term",
                        serialize=False,
                        to="catalog.slo",
                    ),
                ),
                ("topic", models.TextField()),
                (
                    "quantity",
                    models.CharField(
                        choices=[
                            ("delay_p50_s", "Median delay, s"),
                            ("delay_p99_s", "99th percentile of delay, s"),
                            ("delay_mean_s", "Mean delay, s"),
                            ("loss_ratio", "Lost messages, ratio"),
                            ("rate_per_s", "Delivered rate, msg/s, at least"),
                        ],
                        max_length=20,
                    ),
                ),
                ("target", models.FloatField()),
                ("objective", models.FloatField()),
                ("window_s", models.PositiveIntegerField()),
                (
                    "since_s",
                    models.BigIntegerField(help_text="When its first minute begins, Unix seconds."),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ChangedMinute",
            fields=[
                (
                    "since_s",
                    models.BigIntegerField(help_text="When the minute begins, Unix seconds."),
                ),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "system_id",
                        "since_s",
                        "topic",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("topic", models.TextField(db_collation="C")),
                (
                    "system",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="JudgedMinute",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "slo_id",
                        "since_s",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "since_s",
                    models.BigIntegerField(help_text="When the minute begins, Unix seconds."),
                ),
                ("value", models.FloatField(help_text="In the unit of the quantity.")),
                ("has_held", models.BooleanField()),
                (
                    "has_too_few",
                    models.BooleanField(
                        help_text="So few messages that a single one may have decided."
                    ),
                ),
                (
                    "messages",
                    models.FloatField(help_text="How many it was judged by; of rates, about."),
                ),
                (
                    "evidence",
                    models.CharField(
                        choices=[
                            ("delivery", "delivery"),
                            ("answer", "answer"),
                            ("gate", "gate"),
                            ("rates", "rates"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "slo",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.slo",
                    ),
                ),
            ],
        ),
    ]
