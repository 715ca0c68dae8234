"""Create the catalog, whose rows refer to objects of their own system only."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import apps.catalog.models

BROKER, TOPIC = "topology_broker", "catalog_topic"
REFERENCES = {
    "stream": ("self", "", "group_id", "catalog_group"),
    "topic": ("self", "", "source_id", BROKER, "stream_id", "catalog_stream"),
    "topicnodecost": ("topic_id", TOPIC, "broker_id", BROKER),
    "topiclinkcost": ("topic_id", TOPIC, "link_id", "topology_link"),
    "publisher": (
        *("self", "", "topic_id", TOPIC, "broker_id", BROKER),
        *("correlation_key_id", "catalog_correlationkey"),
    ),
    "consumerclass": (
        *("self", "", "topic_id", TOPIC, "broker_id", BROKER),
        *("utility_id", "catalog_utilityfunction"),
    ),
    "slo": ("self", "", "topic_id", TOPIC),
    "subscriber": ("self", "", "broker_id", BROKER),
    "interest": ("subscriber_id", "catalog_subscriber", "topic_id", TOPIC),
}


def _create(table: str, arguments: tuple[str, ...]) -> migrations.RunSQL:
    listed = ", ".join(f"'{argument}'" for argument in arguments)
    name = f"{table}_stays_in_its_system"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON catalog_{table} "
        f"FOR EACH ROW EXECUTE FUNCTION weir_same_system({listed});",
        f"DROP TRIGGER {name} ON catalog_{table};",
    )


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("catalog", "0001_streams_and_groups"),
        ("catalog", "0002_topics"),
        ("catalog", "0003_publishers"),
        ("catalog", "0004_utility_functions"),
        ("catalog", "0005_consumer_classes"),
        ("catalog", "0006_slos"),
        ("catalog", "0007_interests"),
        ("catalog", "0008_one_system"),
    ]

    dependencies = [
        ("systems", "0001_initial"),
        ("topology", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="CorrelationKey",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("description", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="correlation_key_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="correlation_key_name_given",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Group",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("number", models.PositiveIntegerField()),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="group_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="group_name_given"
                    ),
                    models.UniqueConstraint(fields=("system", "number"), name="group_number_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Stream",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("number", models.PositiveIntegerField()),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="streams",
                        to="catalog.group",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="stream_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="stream_name_given"
                    ),
                    models.UniqueConstraint(fields=("system", "number"), name="stream_number_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Subscriber",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
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
                    "broker",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="subscriber_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="subscriber_name_given",
                    ),
                ],
            },
        ),
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
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
                ("token_rate_per_s", models.FloatField(blank=True, null=True)),
                (
                    "token_bucket",
                    models.FloatField(blank=True, help_text="Burst in messages.", null=True),
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
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="topic_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="topic_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rate_min_per_s__gte", 0),
                            ("rate_min_per_s__lt", float("inf")),
                            ("rate_max_per_s__gte", 0),
                            ("rate_max_per_s__lt", float("inf")),
                        ),
                        name="topic_rates_finite_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("rate_min_per_s__lte", models.F("rate_max_per_s"))),
                        name="topic_rate_min_at_most_rate_max",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("token_rate_per_s", None),
                                models.Q(
                                    ("token_rate_per_s__gte", 0),
                                    ("token_rate_per_s__lt", float("inf")),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("token_bucket", None),
                                models.Q(
                                    ("token_bucket__gte", 0), ("token_bucket__lt", float("inf"))
                                ),
                                _connector="OR",
                            ),
                        ),
                        name="topic_token_bucket_finite_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("token_bucket", None), ("token_rate_per_s", None)),
                            models.Q(
                                ("token_bucket__isnull", False), ("token_rate_per_s__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="topic_token_bucket_whole_or_absent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("pattern__in", ["one_to_many", "one_to_one", "request_response"]),
                            ("delivery__in", ["best_effort", "reliable"]),
                        ),
                        name="topic_pattern_and_delivery_known",
                    ),
                ],
            },
        ),
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slos",
                        to="catalog.topic",
                    ),
                ),
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
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="slo_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="slo_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "quantity__in",
                                ["delay_p50_s", "delay_p99_s", "loss_ratio", "rate_per_s"],
                            )
                        ),
                        name="slo_quantity_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("target__gte", 0), ("target__lt", float("inf"))),
                        name="slo_target_finite",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("objective__gt", 0), ("objective__lt", 1)),
                        name="slo_objective_between_0_and_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("window_s__gt", 0)), name="slo_window_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Publisher",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="publishers",
                        to="catalog.topic",
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "correlation_key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="publishers",
                        to="catalog.correlationkey",
                    ),
                ),
                ("rate_per_s", models.FloatField(default=0.0)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="publisher_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="publisher_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("rate_per_s__gte", 0), ("rate_per_s__lt", float("inf"))
                        ),
                        name="publisher_rate_finite",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Interest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "subscriber",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="interests",
                        to="catalog.subscriber",
                    ),
                ),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="interests",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("subscriber", "topic"), name="interest_once")
                ],
            },
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
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="link_costs",
                        to="catalog.topic",
                    ),
                ),
                (
                    "link",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.link",
                    ),
                ),
                ("cost", models.FloatField(default=1.0)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("topic", "link"), name="topic_link_cost_once"),
                    models.CheckConstraint(
                        condition=models.Q(("cost__gte", 0), ("cost__lt", float("inf"))),
                        name="topic_link_cost_finite",
                    ),
                ],
            },
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
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="node_costs",
                        to="catalog.topic",
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("cost", models.FloatField()),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("topic", "broker", "resource"), name="topic_node_cost_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cost__gte", 0), ("cost__lt", float("inf"))),
                        name="topic_node_cost_finite",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UtilityFunction",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=apps.catalog.models.utility_kind_choices, max_length=32
                    ),
                ),
                ("parameters", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="utility_function_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="utility_function_name_given",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsumerClass",
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
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "topic",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consumer_classes",
                        to="catalog.topic",
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consumer_classes",
                        to="topology.broker",
                    ),
                ),
                (
                    "utility",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consumer_classes",
                        to="catalog.utilityfunction",
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True, help_text="For people: gold, silver, bronze.", max_length=32
                    ),
                ),
                (
                    "population_max",
                    models.PositiveIntegerField(help_text="Consumers that want to be admitted."),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="consumer_class_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="consumer_class_name_given",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsumerClassCost",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "consumer_class",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="costs",
                        to="catalog.consumerclass",
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("cost", models.FloatField()),
            ],
            options={
                "ordering": ["resource"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("consumer_class", "resource"), name="class_cost_once_per_resource"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cost__gte", 0), ("cost__lt", float("inf"))),
                        name="class_cost_finite",
                    ),
                ],
            },
        ),
        *(_create(table, arguments) for table, arguments in REFERENCES.items()),
    ]
