import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_topics")]

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
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("description", models.TextField(blank=True)),
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
            model_name="correlationkey",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="correlation_key_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="correlationkey",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="correlation_key_name_given"
            ),
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
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("rate_per_s", models.FloatField(default=0.0)),
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
                        related_name="publishers",
                        to="catalog.topic",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddConstraint(
            model_name="publisher",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="publisher_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="publisher",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="publisher_name_given"
            ),
        ),
        migrations.AddConstraint(
            model_name="publisher",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_per_s__gte", 0), ("rate_per_s__lt", float("inf"))),
                name="publisher_rate_finite",
            ),
        ),
    ]
