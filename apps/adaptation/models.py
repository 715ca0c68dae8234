"""Store who stopped an adaptation, and what adaptations decided."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.systems.models import System
from weir.lifecycle.adaptations import DECISIONS, DecisionState

KEEP_DECISIONS = 200
"""Of each flow."""


class Adaptation(models.Model):
    """Store that a person stopped the adaptation of a flow's parts, or let it go on.

    A stop holds, whatever plans bring, until somebody resumes or the order has ended for good.
    """

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="adaptations")
    flow = models.CharField(max_length=200)
    stopped_at = models.DateTimeField(null=True)
    stopped_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    stopped_by_name = models.CharField(max_length=150, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["system", "flow"], name="adaptation_once_per_flow")
        ]

    def __str__(self) -> str:
        return f"adaptation of {self.flow}"


class DecisionCause(models.TextChoices):
    """Name why parts move."""

    SHIFT = "shift", "Shift"
    BACKLOG = "backlog", "Backlog"
    BURSTS = "bursts", "Bursts"
    RESTORE = "restore", "Restore"


DECISION_STATES = [(state.value, state.value) for state in DecisionState]
UNDER_WAY_NAMES = sorted({state.value for state in DecisionState} - DECISIONS.ended)


class Decision(models.Model):
    """Store one decision: parts shrink, and once brokers have confirmed that, others grow.

    `actions` holds actions of a plan: what each broker was asked for before, and is after.
    """

    system = models.ForeignKey(
        System, on_delete=models.CASCADE, related_name="adaptation_decisions"
    )
    flow = models.CharField(max_length=200)
    at = models.DateTimeField()
    cause = models.CharField(max_length=16, choices=DecisionCause.choices)
    sentence = models.TextField()
    state = models.CharField(max_length=16, default=DecisionState.SHRINKING)
    shrunk_at = models.DateTimeField(null=True, help_text="When larger parts were asked for.")
    ended_at = models.DateTimeField(null=True)
    because = models.TextField(blank=True, help_text="Why it was given up, or what it waits for.")
    drains = models.BooleanField(
        default=False,
        help_text="Rates are what a backlog needs, and fit no longer once it is gone.",
    )
    actions: "models.JSONField[Any, Any]" = models.JSONField()
    measured: "models.JSONField[Any, Any]" = models.JSONField(
        default=dict, help_text="Broker: offered_per_s, waiting and work_peak of the window."
    )

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["system", "flow", "-id"], name="decision_by_flow")]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "flow"],
                condition=Q(state__in=UNDER_WAY_NAMES),
                name="one_decision_under_way_per_flow",
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(DecisionState)), name="decision_state_known"
            ),
            models.CheckConstraint(
                condition=Q(cause__in=sorted(DecisionCause.values)), name="decision_cause_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=UNDER_WAY_NAMES, ended_at=None)
                | Q(~Q(state__in=UNDER_WAY_NAMES), ended_at__isnull=False),
                name="decision_ended_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cause} of {self.flow} at {self.at:%H:%M:%S}"
