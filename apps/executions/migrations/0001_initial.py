"""Create executions and settings, and raise the number of a system's documents with what
administrators set without a plan (access, retention) and with agents' addresses.

In the database, so that it holds whoever edits: two documents that differ never have one number.
At the end of the transaction, so that nobody holds the number while it waits for something else.
"""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.executions
import weir.lifecycle.steps

FORWARD = """
CREATE FUNCTION weir_documents_differ() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO executions_revision AS r (system_id, number)
  SELECT s.id, 1 FROM systems_system s
  WHERE s.id = (to_jsonb(NEW) ->> TG_ARGV[0])::bigint
  ON CONFLICT (system_id) DO UPDATE SET number = r.number + 1;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER documents_follow_system AFTER UPDATE OF access_version, retention_version
  ON systems_system DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.access_version <> NEW.access_version
        OR OLD.retention_version <> NEW.retention_version)
  EXECUTE FUNCTION weir_documents_differ('id');
CREATE CONSTRAINT TRIGGER documents_follow_agent AFTER UPDATE OF address, revoked_at
  ON telemetry_agent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.address <> NEW.address OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION weir_documents_differ('system_id');
"""
BACKWARD = """
DROP TRIGGER documents_follow_agent ON telemetry_agent;
DROP TRIGGER documents_follow_system ON systems_system;
DROP FUNCTION weir_documents_differ();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("executions", "0001_executions"),
        ("executions", "0002_setting_remembers"),
        ("executions", "0003_settings_follow_names"),
        ("executions", "0004_forget_settings_of_nothing"),
        ("executions", "0005_asked_number"),
        ("executions", "0006_numbers_rise"),
        ("executions", "0007_hold_for_windows"),
        ("executions", "0008_outcomes_by_hand"),
        ("executions", "0009_settings_are_their_own"),
        ("executions", "0010_model_in_force"),
        ("executions", "0011_documents_follow_settings"),
        ("executions", "0012_when_a_hold_was_overridden"),
        ("executions", "0013_roll_back_pace"),
    ]

    dependencies = [
        ("telemetry", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("systems", "0001_initial"),
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="executions",
                        to="systems.system",
                    ),
                ),
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
                (
                    "roll_back_pace_s",
                    models.FloatField(
                        default=0.0, help_text="Pause between two steps while it is rolled back, s."
                    ),
                ),
                ("max_parallel", models.PositiveSmallIntegerField(default=1)),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("started_by_name", models.CharField(max_length=150)),
                (
                    "hold_at",
                    models.DateTimeField(
                        help_text="From then on no further step begins.", null=True
                    ),
                ),
                ("hold_because", models.CharField(blank=True, max_length=500)),
                (
                    "held",
                    models.BooleanField(
                        default=False, help_text="Paused by that; goes on when it ends."
                    ),
                ),
                (
                    "hold_overridden_at",
                    models.DateTimeField(
                        help_text="When an operator let it go on in spite of it.", null=True
                    ),
                ),
                ("failure", models.TextField(blank=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "number"), name="execution_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
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
                            )
                        ),
                        fields=("system",),
                        name="one_active_execution_per_system",
                    ),
                    models.CheckConstraint(
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
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("ended_at", None),
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
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("state", weir.lifecycle.executions.ExecutionState["FAILED"]),
                                _negated=True,
                            ),
                            models.Q(("failure", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="execution_failed_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("pace_s__gte", 0),
                            ("pace_s__lt", float("inf")),
                            ("max_parallel__gte", 1),
                        ),
                        name="execution_pace_and_parallel_sound",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("roll_back_pace_s__gte", 0), ("roll_back_pace_s__lt", float("inf"))
                        ),
                        name="execution_roll_back_pace_sound",
                    ),
                ],
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
                (
                    "execution",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="executions.execution",
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
            ],
            options={
                "ordering": ["execution", "index"],
                "constraints": [
                    models.UniqueConstraint(fields=("execution", "index"), name="step_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "aborted",
                                    "aborting",
                                    "completed",
                                    "dead",
                                    "in_progress",
                                    "pending",
                                ],
                            )
                        ),
                        name="step_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("direction__in", ["forward", "undo"])),
                        name="step_direction_known",
                    ),
                ],
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
                (
                    "step",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="actions",
                        to="executions.executionstep",
                    ),
                ),
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
                    "by_hand",
                    models.TextField(
                        blank=True,
                        help_text="Why a person decided how it ends; it is not tried again.",
                    ),
                ),
                (
                    "inverts",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="undone_by",
                        to="executions.executionaction",
                    ),
                ),
                (
                    "moved_at",
                    models.DateTimeField(help_text="When `state` changed last.", null=True),
                ),
                (
                    "asked_number",
                    models.PositiveBigIntegerField(
                        help_text="Of the first document that asks for what the action wants now.",
                        null=True,
                    ),
                ),
                (
                    "pause_s",
                    models.FloatField(help_text="Longest pause of a participant, s.", null=True),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["step", "index"],
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("state__in", ["aborting", "committed", "dead", "preparing"])
                        ),
                        fields=["step"],
                        name="action_under_way",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("step", "index"), name="action_once"),
                    models.CheckConstraint(
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
                ],
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
                (
                    "action",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reports",
                        to="executions.executionaction",
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("broker", models.CharField(max_length=200)),
                ("phase", models.CharField(max_length=16)),
                ("interest", models.JSONField(default=list)),
                ("pause_s", models.FloatField(null=True)),
                ("detail", models.TextField(blank=True)),
                ("interests", models.JSONField(default=dict)),
                ("by_hand", models.TextField(blank=True)),
                ("incarnation", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("action", "attempt", "broker", "phase"), name="report_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("phase__in", ["ready", "refused", "released", "switched"])
                        ),
                        name="report_phase_known",
                    ),
                ],
            },
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
                (
                    "system",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="systems.system",
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=0)),
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="settings",
                        to="systems.system",
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("target", models.JSONField()),
                ("target_key", models.TextField(help_text="The target as one canonical text.")),
                ("in_force", models.JSONField(null=True)),
                ("desired", models.JSONField(null=True)),
                ("controlled", models.JSONField(null=True)),
                ("previous", models.JSONField(null=True)),
                (
                    "changed_at",
                    models.DateTimeField(help_text="When `in_force` changed last.", null=True),
                ),
                (
                    "asked_number",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Of the first document that asks for what is desired now.",
                    ),
                ),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "kind", "target_key"), name="setting_once_per_target"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("controlled", None), ("in_force__isnull", False), _connector="OR"
                        ),
                        name="setting_controlled_only_in_force",
                    ),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
