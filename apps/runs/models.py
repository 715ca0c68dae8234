"""Store snapshots (frozen, hashed inputs), runs and their results."""

from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.demand.models import DemandEstimate
from apps.systems.models import System
from weir.lifecycle.runs import ENDED, RunState

# Sorted, so that the constraints read the same in every process and need no new migration.
STATE_NAMES = sorted(state.value for state in RunState)
ENDED_NAMES = sorted(state.value for state in ENDED)


class Snapshot(BaseModel):
    """Store what a run saw: canonical bytes of a problem, their hash, and the model version and the
    estimate of demand that they show."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=32)
    model_version = models.PositiveIntegerField(null=True)
    demand = models.ForeignKey(
        DemandEstimate,
        on_delete=models.RESTRICT,
        null=True,
        related_name="+",
        help_text="Null: the demand is the model's.",
    )
    content_hash = models.CharField(max_length=64)
    payload = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["system", "kind", "content_hash", "model_version", "demand"],
                name="snapshot_once_per_content",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(content_hash__regex=r"^[0-9a-f]{64}$"), name="snapshot_hash_is_sha256"
            ),
            models.CheckConstraint(
                condition=Q(system=None, model_version=None)
                | Q(system__isnull=False, model_version__isnull=False),
                name="snapshot_of_a_system_names_its_version",
            ),
        ]

    def __str__(self) -> str:
        return self.content_hash[:8]


class Run(BaseModel):
    """Store one computation: from a snapshot, a method, its parameters and a seed to a result."""

    kind = models.CharField(max_length=32)
    system = models.ForeignKey(System, on_delete=models.CASCADE, null=True, related_name="runs")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="runs")
    method = models.CharField(max_length=64)
    parameters: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    seed = models.PositiveIntegerField(default=0)
    time_limit_s = models.FloatField(null=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    rerun_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="reruns"
    )

    # Its result is where this run begins. Results never change and this one cannot be deleted
    # while it is named here, so snapshot, parameters, seed and start give the same answer again.
    starts_from = models.ForeignKey(
        "self", on_delete=models.RESTRICT, null=True, blank=True, related_name="+"
    )

    state = models.CharField(max_length=16, default=RunState.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=0)
    worker = models.CharField(max_length=200, blank=True)
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    progress: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    failure_code = models.CharField(max_length=64, blank=True)
    failure = models.TextField(blank=True)
    kernel_version = models.CharField(max_length=32, blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["state", "heartbeat_at"], name="run_by_state"),
            models.Index(fields=["system", "-id"], name="run_by_system"),
            models.Index(fields=["updated_at"], name="run_by_change"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=STATE_NAMES), name="run_state_known"),
            models.CheckConstraint(
                condition=Q(state__in=ENDED_NAMES, finished_at__isnull=False)
                | Q(~Q(state__in=ENDED_NAMES), finished_at=None),
                name="run_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state=RunState.RUNNING) | Q(heartbeat_at__isnull=False),
                name="run_running_has_a_heartbeat",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=[RunState.FAILED, RunState.INFEASIBLE]) | ~Q(failure=""),
                name="run_failed_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"R-{self.pk}"


class Computed(BaseModel):
    """Store what a run computed or will compute: one table per kind, numbered within its system.

    Each kind adds `system`, a foreign key whose reverse name is its own; null where problems may
    come with the request.
    """

    LETTER: ClassVar[str]
    """The letter before the number, as in `A-26`."""
    LARGE: ClassVar[tuple[str, ...]] = ()
    """The columns that lists do not read."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="%(class)s")
    number = models.PositiveIntegerField()

    class Meta:
        abstract = True
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.LETTER}-{self.number}"

    @property
    def changed_at(self) -> datetime:
        """Return when the row or its run was changed: rows are shown with what is of the run."""
        return max(self.updated_at, self.run.updated_at)


class RunResult(models.Model):
    """Store the kernel's answer byte for byte, so that a rerun can be compared with it."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="result")
    payload = models.BinaryField()
    content_hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"result of {self.run}"


OPENED, CANCEL_REQUESTED = "open", "cancel_requested"
"""What stands in the history of a run beside the commands that change its state."""


class RunEvent(models.Model):
    """Store the history of a run, one row per transition, written in the transition's
    transaction."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    command = models.CharField(max_length=32)
    state = models.CharField(max_length=16)
    attempt = models.PositiveSmallIntegerField()
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.run} {self.command}"
