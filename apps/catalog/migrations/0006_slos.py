import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0005_consumer_classes")]

    operations = [
        migrations.CreateModel(
            name="Slo",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "quantity",
                    models.CharField(
                        choices=[
                            ("delay_p50_s", "Median delay, s"),
                            ("delay_p99_s", "99th percentile of delay, s"),
                            ("loss_ratio", "Lost messages, ratio"),
                            ("rate_per_s", "Delivered rate, msg/s, at least"),
                        ],
                        max_length=20,
                    ),
                ),
                ("target", models.FloatField()),
                (
                    "objective",
                    models.FloatField(
                        default=0.99, help_text="Share of the window in which the target must hold."
                    ),
                ),
                ("window_s", models.PositiveIntegerField(default=2592000)),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slos",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="slo_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="slo_name_given"
            ),
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("quantity__in", ["delay_p50_s", "delay_p99_s", "loss_ratio", "rate_per_s"])
                ),
                name="slo_quantity_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.CheckConstraint(
                condition=models.Q(("target__gte", 0), ("target__lt", float("inf"))),
                name="slo_target_finite",
            ),
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.CheckConstraint(
                condition=models.Q(("objective__gt", 0), ("objective__lt", 1)),
                name="slo_objective_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="slo",
            constraint=models.CheckConstraint(
                condition=models.Q(("window_s__gt", 0)), name="slo_window_positive"
            ),
        ),
    ]
