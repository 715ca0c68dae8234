import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("systems", "0001_systems")]

    operations = [
        migrations.CreateModel(
            name="Broker",
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
                ("region", models.CharField(blank=True, max_length=100)),
                (
                    "map_x",
                    models.FloatField(blank=True, help_text="Place on the map, 0 to 1.", null=True),
                ),
                (
                    "map_y",
                    models.FloatField(blank=True, help_text="Place on the map, 0 to 1.", null=True),
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
            model_name="broker",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="broker_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="broker",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="broker_name_given"
            ),
        ),
        migrations.CreateModel(
            name="BrokerCapacity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("capacity", models.FloatField()),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="capacities",
                        to="topology.broker",
                    ),
                ),
            ],
            options={
                "ordering": ["resource"],
            },
        ),
        migrations.AddConstraint(
            model_name="brokercapacity",
            constraint=models.UniqueConstraint(
                fields=("broker", "resource"), name="broker_capacity_once_per_resource"
            ),
        ),
        migrations.AddConstraint(
            model_name="brokercapacity",
            constraint=models.CheckConstraint(
                condition=models.Q(("capacity__gte", 0), ("capacity__lt", float("inf"))),
                name="broker_capacity_finite_not_negative",
            ),
        ),
    ]
