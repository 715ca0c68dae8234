import uuid

import django.contrib.postgres.fields
from django.db import migrations, models

import apps.systems.models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="System",
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
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True)),
                (
                    "product",
                    models.CharField(
                        choices=[
                            ("simulated", "Simulated"),
                            ("nats", "NATS"),
                            ("kafka", "Kafka"),
                            ("rabbitmq", "RabbitMQ"),
                            ("mqtt", "MQTT"),
                        ],
                        default="simulated",
                        max_length=16,
                    ),
                ),
                (
                    "resources",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32),
                        default=apps.systems.models.default_resources,
                        size=8,
                    ),
                ),
                ("model_version", models.PositiveIntegerField(default=1, editable=False)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="system_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("product__in", ["simulated", "nats", "kafka", "rabbitmq", "mqtt"])
                        ),
                        name="system_product_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("resources__len__gte", 1)), name="system_has_a_resource"
                    ),
                ],
            },
        ),
    ]
