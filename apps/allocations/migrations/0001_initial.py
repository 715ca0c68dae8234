import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("allocations", "0001_allocations"),
        ("allocations", "0002_allocation_bounds"),
        ("allocations", "0003_allocation_moments"),
        ("allocations", "0004_run_of_a_computed_row"),
    ]

    dependencies = [
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Allocation",
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
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s",
                        to="runs.run",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "system",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="allocations",
                        to="systems.system",
                    ),
                ),
                ("status", models.CharField(max_length=16)),
                ("method", models.CharField(max_length=64)),
                ("utility", models.FloatField()),
                ("upper_bound", models.FloatField(null=True)),
                ("iterations", models.PositiveIntegerField()),
                ("trace", models.JSONField(default=list)),
                ("bounds", models.JSONField(default=list)),
                (
                    "moments",
                    models.JSONField(
                        default=list,
                        help_text="Pairs of iteration and seconds of computing until its end; a job may lose them.",
                    ),
                ),
                ("admitted", models.BigIntegerField()),
                ("wanted", models.BigIntegerField()),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("system__isnull", False)),
                        fields=("system", "number"),
                        name="allocation_number_once_per_system",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("admitted__gte", 0), ("admitted__lte", models.F("wanted"))
                        ),
                        name="allocation_admits_at_most_the_wanted",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ClassPopulation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "allocation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="populations",
                        to="allocations.allocation",
                    ),
                ),
                ("consumer_class", models.CharField(max_length=200)),
                ("flow", models.CharField(max_length=200)),
                ("node", models.CharField(max_length=200)),
                ("admitted", models.BigIntegerField()),
                ("wanted", models.BigIntegerField()),
                ("utility", models.FloatField()),
                (
                    "value_of_one",
                    models.FloatField(help_text="Utility of one consumer at the flow's rate."),
                ),
                (
                    "price_of_one",
                    models.FloatField(help_text="What one consumer takes, at the node's prices."),
                ),
                (
                    "scale",
                    models.FloatField(
                        help_text="The utility function's weight: classes are ranked by it."
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("allocation", "consumer_class"), name="class_population_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("admitted__gte", 0), ("admitted__lte", models.F("wanted"))
                        ),
                        name="class_admits_at_most_the_wanted",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FlowRate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "allocation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rates",
                        to="allocations.allocation",
                    ),
                ),
                ("flow", models.CharField(max_length=200)),
                ("nodes", models.JSONField(default=list)),
                ("rate_min_per_s", models.FloatField()),
                ("rate_max_per_s", models.FloatField()),
                ("rate_per_s", models.FloatField()),
                ("admitted", models.BigIntegerField()),
                ("wanted", models.BigIntegerField()),
                ("utility", models.FloatField()),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("allocation", "flow"), name="flow_rate_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ResourceLoad",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "allocation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="loads",
                        to="allocations.allocation",
                    ),
                ),
                (
                    "place",
                    models.CharField(choices=[("node", "Node"), ("link", "Link")], max_length=8),
                ),
                ("name", models.CharField(max_length=200)),
                ("resource", models.CharField(blank=True, max_length=32)),
                ("capacity", models.FloatField()),
                ("load", models.FloatField()),
                ("price", models.FloatField()),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("allocation", "place", "name", "resource"),
                        name="resource_load_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("place__in", ["node", "link"])), name="load_place_known"
                    ),
                ],
            },
        ),
    ]
