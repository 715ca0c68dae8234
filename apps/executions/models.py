"""Store settings in force, executions with their steps and actions, and what agents report of
them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.systems.models import System
from weir.coordination.views import ORDER_PHASES
from weir.coordination.wire import ReportPhase
from weir.lifecycle.executions import ACTIVE, ExecutionState
from weir.lifecycle.steps import ActionState, StepState
from weir.model.plan import Action

# Sorted, so that the constraints read the same in every process and need no new migration.
EXECUTION_STATE_NAMES = sorted(state.value for state in ExecutionState)
ACTIVE_NAMES = sorted(state.value for state in ACTIVE)
STEP_STATE_NAMES = sorted(state.value for state in StepState)
ACTION_STATE_NAMES = sorted(state.value for state in ActionState)
UNDER_WAY_NAMES = sorted(state.value for state in ORDER_PHASES)
PHASE_NAMES = sorted(phase.value for phase in ReportPhase)


class Direction(models.TextChoices):
    """Name whether a step carries the plan out or takes it back."""

    FORWARD = "forward", "Forward"
    UNDO = "undo", "Undo"


class Revision(models.Model):
    """Store the number of a system's documents: it rises with each commit after which they may
    differ."""

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="+")
    number = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.system} {self.number}"


class Setting(models.Model):
    """Store a value enforced at one broker: a flow's token bucket, a class's limit. Null: not
    enforced.

    `in_force` is what was proved, `desired` what the agent is asked for, `controlled` what rate
    control, or adaptation of parts, asks for instead; an agent reads controlled, else desired.
    `previous` was in force until `changed_at`: judgement asks how long a value stands and which
    way it moved last.
    """

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="settings")
    kind = models.CharField(max_length=32)
    target: "models.JSONField[Any, Any]" = models.JSONField()
    target_key = models.TextField(help_text="The target as one canonical text.")
    in_force: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    desired: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    controlled: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    may_hold: "models.JSONField[Any, Any]" = models.JSONField(
        null=True,
        help_text="Of a part of a bucket: the largest rate and size that the broker may enforce "
        "since it last confirmed what is asked; null: what is asked. A null member: without bound.",
    )
    previous: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    changed_at = models.DateTimeField(null=True, help_text="When `in_force` changed last.")
    asked_number = models.PositiveBigIntegerField(
        default=0, help_text="Of the first document that asks for what is desired now."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            # What adaptation looks for twice a second, in all systems.
            models.Index(
                fields=["kind", "system"],
                condition=Q(controlled__isnull=False)
                | Q(may_hold__isnull=False)
                | Q(kind="adapt_parts", in_force__isnull=False),
                name="setting_that_adapts",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "kind", "target_key"], name="setting_once_per_target"
            ),
            models.CheckConstraint(
                condition=Q(controlled=None) | Q(in_force__isnull=False) | Q(desired__isnull=False),
                name="setting_controlled_only_of_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target_key}"


class Execution(BaseModel):
    """Store one attempt at an approved plan. `subject_id` names the plan, which belongs to an app
    above."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="executions")
    number = models.PositiveIntegerField()
    subject_id = models.UUIDField(db_index=True)
    subject_name = models.CharField(max_length=32)
    subject_title = models.CharField(max_length=200, blank=True)
    state = models.CharField(max_length=16, default=ExecutionState.PENDING)
    pace_s = models.FloatField(default=0.0, help_text="Pause between two steps, s.")
    roll_back_pace_s = models.FloatField(
        default=0.0, help_text="Pause between two steps while it is rolled back, s."
    )
    max_parallel = models.PositiveSmallIntegerField(default=1)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    started_by_name = models.CharField(max_length=150)
    # Maintenance windows, which stand a storey above, say here when no further step may begin.
    hold_at = models.DateTimeField(null=True, help_text="From then on no further step begins.")
    hold_because = models.CharField(max_length=500, blank=True)
    held = models.BooleanField(default=False, help_text="Paused by that; goes on when it ends.")
    hold_overridden_at = models.DateTimeField(
        null=True, help_text="When an operator let it go on in spite of it."
    )
    failure = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["updated_at"], name="execution_by_change"),
            models.Index(
                fields=["ended_at"],
                condition=Q(state=ExecutionState.FAILED.value),
                name="execution_that_failed",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["system", "number"], name="execution_number_once"),
            models.UniqueConstraint(
                fields=["system"],
                condition=Q(state__in=ACTIVE_NAMES),
                name="one_active_execution_per_system",
            ),
            models.CheckConstraint(
                condition=Q(state__in=EXECUTION_STATE_NAMES), name="execution_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=ACTIVE_NAMES, ended_at=None)
                | Q(~Q(state__in=ACTIVE_NAMES), ended_at__isnull=False),
                name="execution_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state=ExecutionState.FAILED) | ~Q(failure=""),
                name="execution_failed_has_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(pace_s__gte=0) & Q(pace_s__lt=float("inf")) & Q(max_parallel__gte=1),
                name="execution_pace_and_parallel_sound",
            ),
            models.CheckConstraint(
                condition=Q(roll_back_pace_s__gte=0) & Q(roll_back_pace_s__lt=float("inf")),
                name="execution_roll_back_pace_sound",
            ),
        ]

    def __str__(self) -> str:
        return f"E-{self.number}"


class ExecutionStep(models.Model):
    """Store actions that may run together; a rollback appends undo steps."""

    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="steps")
    index = models.PositiveIntegerField()
    direction = models.CharField(max_length=8, choices=Direction.choices, default=Direction.FORWARD)
    state = models.CharField(max_length=16, default=StepState.PENDING)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["execution", "index"]
        constraints = [
            models.UniqueConstraint(fields=["execution", "index"], name="step_once"),
            models.CheckConstraint(
                condition=Q(state__in=STEP_STATE_NAMES), name="step_state_known"
            ),
            models.CheckConstraint(
                condition=Q(direction__in=Direction.values), name="step_direction_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.execution} step {self.index}"


class ExecutionAction(BaseModel):
    """Store one action of a step, with its running attempt."""

    step = models.ForeignKey(ExecutionStep, on_delete=models.CASCADE, related_name="actions")
    index = models.PositiveIntegerField()
    kind = models.CharField(max_length=32)
    target: "models.JSONField[Any, Any]" = models.JSONField()
    before: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    effect = models.TextField(blank=True)
    state = models.CharField(max_length=16, default=ActionState.PENDING)
    attempt = models.PositiveIntegerField(default=0)
    deadline_at = models.DateTimeField(null=True)
    interests: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    detail = models.TextField(blank=True)
    by_hand = models.TextField(
        blank=True, help_text="Why a person decided how it ends; it is not tried again."
    )
    inverts = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, related_name="undone_by"
    )
    moved_at = models.DateTimeField(null=True, help_text="When `state` changed last.")
    asked_number = models.PositiveBigIntegerField(
        null=True, help_text="Of the first document that asks for what the action wants now."
    )
    pause_s = models.FloatField(null=True, help_text="Longest pause of a participant, s.")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["step", "index"]
        indexes = [
            models.Index(
                fields=["step"], condition=Q(state__in=UNDER_WAY_NAMES), name="action_under_way"
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["step", "index"], name="action_once"),
            models.CheckConstraint(
                condition=Q(state__in=ACTION_STATE_NAMES), name="action_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"

    @property
    def action(self) -> Action:
        """Return the action as the kernel knows it."""
        return Action(
            kind=self.kind,
            target=self.target,
            before=self.before,
            after=self.after,
            effect=self.effect,
        )


class ActionReport(models.Model):
    """Store what one broker's agent said about one attempt; a repeat is the same row."""

    action = models.ForeignKey(ExecutionAction, on_delete=models.CASCADE, related_name="reports")
    attempt = models.PositiveIntegerField()
    broker = models.CharField(max_length=200)
    phase = models.CharField(max_length=16)
    interest: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    pause_s = models.FloatField(null=True)
    detail = models.TextField(blank=True)
    interests: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    by_hand = models.TextField(blank=True)
    incarnation = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["action", "attempt", "broker", "phase"], name="report_once"
            ),
            models.CheckConstraint(condition=Q(phase__in=PHASE_NAMES), name="report_phase_known"),
        ]

    def __str__(self) -> str:
        return f"{self.broker} {self.phase} {self.attempt}"
