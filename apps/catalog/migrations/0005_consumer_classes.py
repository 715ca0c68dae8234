import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_utility_functions")]

    operations = [
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
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
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
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="consumer_classes",
                        to="topology.broker",
                    ),
                ),
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
                        related_name="consumer_classes",
                        to="catalog.topic",
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
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddConstraint(
            model_name="consumerclass",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="consumer_class_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="consumerclass",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="consumer_class_name_given"
            ),
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
                ("resource", models.CharField(max_length=32)),
                ("cost", models.FloatField()),
                (
                    "consumer_class",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="costs",
                        to="catalog.consumerclass",
                    ),
                ),
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
    ]
