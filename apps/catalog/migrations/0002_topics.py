import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_streams_and_groups")]

    operations = [
        migrations.CreateModel(
            name="Topic",
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
                ("description", models.TextField(blank=True)),
                (
                    "pattern",
                    models.CharField(
                        choices=[
                            ("one_to_many", "One to many"),
                            ("one_to_one", "One to one"),
                            ("request_response", "Request-response"),
                        ],
                        default="one_to_many",
                        max_length=20,
                    ),
                ),
                (
                    "delivery",
                    models.CharField(
                        choices=[("best_effort", "Best effort"), ("reliable", "Reliable")],
                        default="best_effort",
                        max_length=16,
                    ),
                ),
                ("rate_min_per_s", models.FloatField(default=0.0)),
                ("rate_max_per_s", models.FloatField()),
                ("token_rate_per_s", models.FloatField(blank=True, null=True)),
                (
                    "token_bucket",
                    models.FloatField(blank=True, help_text="Burst in messages.", null=True),
                ),
                (
                    "source",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "stream",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="topics",
                        to="catalog.stream",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="topic_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="topic_name_given"
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("rate_min_per_s__gte", 0),
                    ("rate_min_per_s__lt", float("inf")),
                    ("rate_max_per_s__gte", 0),
                    ("rate_max_per_s__lt", float("inf")),
                ),
                name="topic_rates_finite_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_min_per_s__lte", models.F("rate_max_per_s"))),
                name="topic_rate_min_at_most_rate_max",
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("token_rate_per_s", None),
                        models.Q(
                            ("token_rate_per_s__gte", 0), ("token_rate_per_s__lt", float("inf"))
                        ),
                        _connector="OR",
                    ),
                    models.Q(
                        ("token_bucket", None),
                        models.Q(("token_bucket__gte", 0), ("token_bucket__lt", float("inf"))),
                        _connector="OR",
                    ),
                ),
                name="topic_token_bucket_finite_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("token_bucket", None), ("token_rate_per_s", None)),
                    models.Q(("token_bucket__isnull", False), ("token_rate_per_s__isnull", False)),
                    _connector="OR",
                ),
                name="topic_token_bucket_whole_or_absent",
            ),
        ),
        migrations.AddConstraint(
            model_name="topic",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("pattern__in", ["one_to_many", "one_to_one", "request_response"]),
                    ("delivery__in", ["best_effort", "reliable"]),
                ),
                name="topic_pattern_and_delivery_known",
            ),
        ),
        migrations.CreateModel(
            name="TopicNodeCost",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("cost", models.FloatField()),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="node_costs",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="topicnodecost",
            constraint=models.UniqueConstraint(
                fields=("topic", "broker", "resource"), name="topic_node_cost_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="topicnodecost",
            constraint=models.CheckConstraint(
                condition=models.Q(("cost__gte", 0), ("cost__lt", float("inf"))),
                name="topic_node_cost_finite",
            ),
        ),
        migrations.CreateModel(
            name="TopicLinkCost",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("cost", models.FloatField(default=1.0)),
                (
                    "link",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.link",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="link_costs",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="topiclinkcost",
            constraint=models.UniqueConstraint(
                fields=("topic", "link"), name="topic_link_cost_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="topiclinkcost",
            constraint=models.CheckConstraint(
                condition=models.Q(("cost__gte", 0), ("cost__lt", float("inf"))),
                name="topic_link_cost_finite",
            ),
        ),
    ]
