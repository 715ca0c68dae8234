import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.executions
import weir.lifecycle.steps


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("systems", "0002_one_system"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Execution",
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
                ("subject_id", models.UUIDField(db_index=True)),
                ("subject_name", models.CharField(max_length=32)),
                ("subject_title", models.CharField(blank=True, max_length=200)),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.executions.ExecutionState["PENDING"], max_length=16
                    ),
                ),
                ("pace_s", models.FloatField(default=0.0, help_text="Pause between two steps, s.")),
                ("max_parallel", models.PositiveSmallIntegerField(default=1)),
                ("started_by_name", models.CharField(max_length=150)),
                ("failure", models.TextField(blank=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="executions",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ExecutionAction",
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
                ("index", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("target", models.JSONField()),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("effect", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.steps.ActionState["PENDING"], max_length=16
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("deadline_at", models.DateTimeField(null=True)),
                ("interests", models.JSONField(default=dict)),
                ("detail", models.TextField(blank=True)),
                (
                    "moved_at",
                    models.DateTimeField(help_text="When `state` changed last.", null=True),
                ),
                (
                    "pause_s",
                    models.FloatField(help_text="Longest pause of a participant, s.", null=True),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "inverts",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="undone_by",
                        to="executions.executionaction",
                    ),
                ),
            ],
            options={
                "ordering": ["step", "index"],
            },
        ),
        migrations.CreateModel(
            name="ActionReport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("broker", models.CharField(max_length=200)),
                ("phase", models.CharField(max_length=16)),
                ("interest", models.JSONField(default=list)),
                ("pause_s", models.FloatField(null=True)),
                ("detail", models.TextField(blank=True)),
                ("incarnation", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "action",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reports",
                        to="executions.executionaction",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ExecutionStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("index", models.PositiveIntegerField()),
                (
                    "direction",
                    models.CharField(
                        choices=[("forward", "Forward"), ("undo", "Undo")],
                        default="forward",
                        max_length=8,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.steps.StepState["PENDING"], max_length=16
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "execution",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="executions.execution",
                    ),
                ),
            ],
            options={
                "ordering": ["execution", "index"],
            },
        ),
        migrations.AddField(
            model_name="executionaction",
            name="step",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="actions",
                to="executions.executionstep",
            ),
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=0)),
                (
                    "system",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="systems.system",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Setting",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("target", models.JSONField()),
                ("target_key", models.TextField(help_text="The target as one canonical text.")),
                ("in_force", models.JSONField(null=True)),
                ("desired", models.JSONField(null=True)),
                ("controlled", models.JSONField(null=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="settings",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.UniqueConstraint(
                fields=("system", "number"), name="execution_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["paused", "pausing", "pending", "rolling_back", "running", "stopping"],
                    )
                ),
                fields=("system",),
                name="one_active_execution_per_system",
            ),
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "failed",
                            "paused",
                            "pausing",
                            "pending",
                            "rolled_back",
                            "rolling_back",
                            "running",
                            "stopped",
                            "stopping",
                            "succeeded",
                        ],
                    )
                ),
                name="execution_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("ended_at", None),
                        (
                            "state__in",
                            ["paused", "pausing", "pending", "rolling_back", "running", "stopping"],
                        ),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "state__in",
                                [
                                    "paused",
                                    "pausing",
                                    "pending",
                                    "rolling_back",
                                    "running",
                                    "stopping",
                                ],
                            ),
                            _negated=True,
                        ),
                        ("ended_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="execution_ended_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state", weir.lifecycle.executions.ExecutionState["FAILED"]), _negated=True
                    ),
                    models.Q(("failure", ""), _negated=True),
                    _connector="OR",
                ),
                name="execution_failed_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="execution",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("pace_s__gte", 0), ("pace_s__lt", float("inf")), ("max_parallel__gte", 1)
                ),
                name="execution_pace_and_parallel_sound",
            ),
        ),
        migrations.AddConstraint(
            model_name="actionreport",
            constraint=models.UniqueConstraint(
                fields=("action", "attempt", "broker", "phase"), name="report_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="actionreport",
            constraint=models.CheckConstraint(
                condition=models.Q(("phase__in", ["ready", "refused", "released", "switched"])),
                name="report_phase_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="executionstep",
            constraint=models.UniqueConstraint(fields=("execution", "index"), name="step_once"),
        ),
        migrations.AddConstraint(
            model_name="executionstep",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["aborted", "aborting", "completed", "dead", "in_progress", "pending"],
                    )
                ),
                name="step_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="executionstep",
            constraint=models.CheckConstraint(
                condition=models.Q(("direction__in", ["forward", "undo"])),
                name="step_direction_known",
            ),
        ),
        migrations.AddIndex(
            model_name="executionaction",
            index=models.Index(
                condition=models.Q(("state__in", ["aborting", "committed", "dead", "preparing"])),
                fields=["step"],
                name="action_under_way",
            ),
        ),
        migrations.AddConstraint(
            model_name="executionaction",
            constraint=models.UniqueConstraint(fields=("step", "index"), name="action_once"),
        ),
        migrations.AddConstraint(
            model_name="executionaction",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "aborted",
                            "aborting",
                            "committed",
                            "dead",
                            "done",
                            "pending",
                            "preparing",
                        ],
                    )
                ),
                name="action_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="setting",
            constraint=models.UniqueConstraint(
                fields=("system", "kind", "target_key"), name="setting_once_per_target"
            ),
        ),
        migrations.AddConstraint(
            model_name="setting",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("controlled", None), ("in_force__isnull", False), _connector="OR"
                ),
                name="setting_controlled_only_in_force",
            ),
        ),
    ]
