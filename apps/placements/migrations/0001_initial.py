import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("catalog", "0002_pins_and_batches"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Placement",
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
                ("number", models.PositiveIntegerField()),
                (
                    "topic_name",
                    models.CharField(help_text="The topic's name at that time.", max_length=200),
                ),
                ("method", models.CharField(max_length=64)),
                (
                    "brokers",
                    models.PositiveIntegerField(
                        help_text="Brokers that serve publishers of the topic."
                    ),
                ),
                ("publishers", models.PositiveIntegerField(help_text="Publishers with a rate.")),
                (
                    "moved",
                    models.PositiveIntegerField(
                        help_text="Publishers that change their broker, or get one."
                    ),
                ),
                (
                    "p99_s",
                    models.FloatField(
                        help_text="What 1 % of the messages wait longer than, in token bucket and queue, s; null: it grows without bound.",
                        null=True,
                    ),
                ),
                (
                    "processing_p99_s",
                    models.FloatField(
                        help_text="The same without any token bucket, s; null: without bound.",
                        null=True,
                    ),
                ),
                (
                    "penalty_s",
                    models.FloatField(
                        help_text="What the split bucket adds to the 99th percentile, s.", null=True
                    ),
                ),
                (
                    "slo_p99_s",
                    models.FloatField(
                        help_text="The topic's smallest target of that percentile, s; null: it has none.",
                        null=True,
                    ),
                ),
                (
                    "meets",
                    models.BooleanField(
                        help_text="Whether it meets the target; null: there is none.", null=True
                    ),
                ),
                (
                    "drained_brokers",
                    models.JSONField(
                        default=list, help_text="Names of brokers that shall serve nobody."
                    ),
                ),
                ("note", models.TextField(blank=True)),
                (
                    "outcome",
                    models.JSONField(
                        help_text="The kernel's answer without the broker of each publisher."
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s",
                        to="runs.run",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="placements",
                        to="systems.system",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="placements",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Move",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("publisher", models.CharField(max_length=200)),
                (
                    "group",
                    models.CharField(
                        blank=True,
                        help_text="Its correlation key; empty: it sends on its own.",
                        max_length=200,
                    ),
                ),
                ("rate_per_s", models.FloatField()),
                (
                    "from_broker",
                    models.CharField(
                        blank=True,
                        help_text="Empty: it has no broker today, or one without a publish rate.",
                        max_length=200,
                    ),
                ),
                ("to_broker", models.CharField(max_length=200)),
                (
                    "placement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="moves",
                        to="placements.placement",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="placement",
            constraint=models.UniqueConstraint(
                fields=("system", "number"), name="placement_number_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="placement",
            constraint=models.CheckConstraint(
                condition=models.Q(("brokers__gt", 0), ("brokers__lte", models.F("publishers"))),
                name="placement_brokers_serve_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="placement",
            constraint=models.CheckConstraint(
                condition=models.Q(("moved__lte", models.F("publishers"))),
                name="placement_moves_at_most_all",
            ),
        ),
        migrations.AddConstraint(
            model_name="placement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("p99_s", None),
                        models.Q(("p99_s__gte", 0), ("p99_s__lt", float("inf"))),
                        _connector="OR",
                    ),
                    models.Q(
                        ("processing_p99_s", None),
                        models.Q(
                            ("processing_p99_s__gte", 0), ("processing_p99_s__lt", float("inf"))
                        ),
                        _connector="OR",
                    ),
                    models.Q(
                        ("slo_p99_s", None),
                        models.Q(("slo_p99_s__gte", 0), ("slo_p99_s__lt", float("inf"))),
                        _connector="OR",
                    ),
                ),
                name="placement_delays_finite_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="placement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("meets", None), ("slo_p99_s", None)),
                    models.Q(("meets__isnull", False), ("slo_p99_s__isnull", False)),
                    _connector="OR",
                ),
                name="placement_meets_a_target_or_has_none",
            ),
        ),
        migrations.AddConstraint(
            model_name="move",
            constraint=models.UniqueConstraint(fields=("placement", "publisher"), name="move_once"),
        ),
        migrations.AddConstraint(
            model_name="move",
            constraint=models.CheckConstraint(
                condition=models.Q(("from_broker", models.F("to_broker")), _negated=True),
                name="move_changes_the_broker",
            ),
        ),
        migrations.AddConstraint(
            model_name="move",
            constraint=models.CheckConstraint(
                condition=models.Q(("to_broker", ""), _negated=True), name="move_leads_to_a_broker"
            ),
        ),
        migrations.AddConstraint(
            model_name="move",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_per_s__gte", 0), ("rate_per_s__lt", float("inf"))),
                name="move_rate_finite",
            ),
        ),
    ]
