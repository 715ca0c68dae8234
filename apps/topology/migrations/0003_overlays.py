import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("topology", "0002_links")]

    operations = [
        migrations.CreateModel(
            name="Overlay",
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
                    "purpose",
                    models.CharField(
                        choices=[("overlay", "Overlay"), ("goal", "Goal topology")],
                        default="overlay",
                        max_length=16,
                    ),
                ),
                ("in_force", models.BooleanField(default=False)),
                ("note", models.TextField(blank=True)),
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
            model_name="overlay",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="overlay_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="overlay",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="overlay_name_given"
            ),
        ),
        migrations.AddConstraint(
            model_name="overlay",
            constraint=models.UniqueConstraint(
                condition=models.Q(("in_force", True)),
                fields=("system",),
                name="one_overlay_in_force",
            ),
        ),
        migrations.AddConstraint(
            model_name="overlay",
            constraint=models.CheckConstraint(
                condition=models.Q(("in_force", False), ("purpose", "overlay"), _connector="OR"),
                name="goal_topology_is_not_in_force",
            ),
        ),
        migrations.AddConstraint(
            model_name="overlay",
            constraint=models.CheckConstraint(
                condition=models.Q(("purpose__in", ["overlay", "goal"])),
                name="overlay_purpose_known",
            ),
        ),
        migrations.CreateModel(
            name="OverlayEdge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "a",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "b",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "overlay",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="edges",
                        to="topology.overlay",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="overlayedge",
            constraint=models.UniqueConstraint(
                fields=("overlay", "a", "b"), name="overlay_edge_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="overlayedge",
            constraint=models.CheckConstraint(
                condition=models.Q(("a", models.F("b")), _negated=True),
                name="overlay_edge_joins_two_brokers",
            ),
        ),
    ]
