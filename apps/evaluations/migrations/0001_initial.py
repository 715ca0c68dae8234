import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("overlays", "0001_evaluations"),
        ("overlays", "0002_shift_pause"),
        ("overlays", "0003_run_of_a_computed_row"),
    ]

    dependencies = [
        ("executions", "0001_initial"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
        ("topology", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Evaluation",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="overlay_evaluations",
                        to="systems.system",
                    ),
                ),
                (
                    "overlay",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="topology.overlay",
                    ),
                ),
                (
                    "overlay_name",
                    models.CharField(
                        help_text="The overlay in force it began from.", max_length=200
                    ),
                ),
                ("edges", models.JSONField(help_text="Its links then.")),
                ("goals", models.JSONField(default=list)),
                (
                    "objective",
                    models.CharField(
                        choices=[("actions", "Few actions"), ("steps", "Few steps")], max_length=8
                    ),
                ),
                ("methods", models.JSONField(default=list)),
                ("planners", models.JSONField(default=list)),
                ("seeds", models.JSONField(default=list)),
                ("options", models.JSONField(default=dict)),
                ("horizon_s", models.FloatField()),
                ("window_s", models.FloatField()),
                ("traffic", models.JSONField(default=dict)),
                (
                    "shift_pause_s",
                    models.FloatField(
                        default=0.1, help_text="How long a shift was taken to pause its brokers, s."
                    ),
                ),
                (
                    "shifts_measured",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Shifts of this system that say so; 0 where it is assumed.",
                    ),
                ),
                (
                    "subscribers",
                    models.JSONField(default=dict, help_text="Consumers by topic and broker."),
                ),
                ("note", models.TextField(blank=True)),
                (
                    "continues",
                    models.ForeignKey(
                        help_text="The broken-off execution that it plans on from.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="executions.execution",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "why",
                    models.JSONField(
                        default=list,
                        help_text="Sentences: what is recommended and for which figures.",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "number"), name="evaluation_number_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("objective__in", ["actions", "steps"])),
                        name="evaluation_objective_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("horizon_s__gt", 0),
                            ("horizon_s__lt", float("inf")),
                            ("window_s__gt", 0),
                            ("window_s__lt", float("inf")),
                            ("shift_pause_s__gte", 0),
                            ("shift_pause_s__lt", float("inf")),
                        ),
                        name="evaluation_times_positive_finite",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
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
                    "evaluation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="candidates",
                        to="overlays.evaluation",
                    ),
                ),
                (
                    "index",
                    models.PositiveIntegerField(
                        help_text="Position in the evaluation; 0 is today's tree."
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("today", "The overlay in force: do nothing"),
                            ("goal", "A stored goal topology"),
                            ("method", "Found by a method"),
                        ],
                        max_length=8,
                    ),
                ),
                ("name", models.CharField(max_length=300)),
                ("method", models.CharField(blank=True, max_length=64)),
                ("seed", models.PositiveIntegerField(default=0)),
                ("title", models.CharField(max_length=300)),
                (
                    "goal",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="topology.overlay",
                    ),
                ),
                ("rank", models.PositiveIntegerField(help_text="By net benefit, 1 first.")),
                (
                    "chosen",
                    models.BooleanField(default=False, help_text="The one that Weir recommends."),
                ),
                ("status", models.CharField(max_length=16)),
                ("reason", models.TextField(blank=True)),
                ("same_as", models.CharField(blank=True, max_length=300)),
                ("edges", models.JSONField(default=list)),
                ("links", models.JSONField(default=list)),
                ("brokers", models.JSONField(default=list)),
                ("routing_cost_per_s", models.FloatField(null=True)),
                ("traffic_per_s", models.FloatField(null=True)),
                ("in_flight", models.FloatField(null=True)),
                ("busiest_broker", models.CharField(blank=True, max_length=200)),
                ("busiest_share", models.FloatField(null=True)),
                ("overloaded", models.JSONField(default=list)),
                ("max_degree", models.PositiveIntegerField(null=True)),
                ("links_changed", models.PositiveIntegerField(default=0)),
                ("saved_per_s", models.FloatField(null=True)),
                ("planner", models.CharField(blank=True, max_length=64)),
                ("plan_status", models.CharField(blank=True, max_length=16)),
                ("steps", models.JSONField(default=list)),
                ("moments", models.JSONField(default=list)),
                ("frontier", models.JSONField(default=list)),
                ("actions", models.PositiveIntegerField(null=True)),
                ("lower_bound_actions", models.PositiveIntegerField(null=True)),
                ("steps_count", models.PositiveIntegerField(null=True)),
                ("lower_bound_steps", models.PositiveIntegerField(null=True)),
                ("transformation_cost", models.FloatField(null=True)),
                ("held_messages", models.FloatField(null=True)),
                (
                    "pause_s",
                    models.FloatField(
                        help_text="Of one action after the other in each step.", null=True
                    ),
                ),
                ("disturbed_subscribers", models.PositiveBigIntegerField(null=True)),
                ("net_benefit", models.FloatField(null=True)),
                ("runtime_s", models.FloatField(default=0.0)),
            ],
            options={
                "ordering": ["evaluation", "rank", "index"],
                "constraints": [
                    models.UniqueConstraint(fields=("evaluation", "index"), name="candidate_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("chosen", True)),
                        fields=("evaluation",),
                        name="one_candidate_chosen",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["goal", "method", "today"])),
                        name="candidate_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("actions", None),
                            models.Q(
                                ("net_benefit__isnull", False), ("steps_count__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="candidate_planned_has_figures",
                    ),
                ],
            },
        ),
    ]
