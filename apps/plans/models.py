"""Store plans, the decisions of people about them, and their history.

What a database can promise is promised here and in the triggers of the migrations: a plan's
document never changes, a decision names the hash it is about, nobody decides about what is their
own, a decision and an event are never edited.
"""

import json
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.executions.models import Execution
from apps.policies.domain.terms import DEFAULT_TERMS
from apps.runs.models import Run
from apps.systems.models import System
from weir.codec.plan import plan_from_dict
from weir.lifecycle.plans import UNSETTLED, PlanState
from weir.model.plan import Plan as Document

# Sorted, so that the constraints read the same in every process and need no new migration.
STATE_NAMES = sorted(state.value for state in PlanState)
UNSETTLED_NAMES = sorted(state.value for state in UNSETTLED)
CAME_BACK_NAMES = sorted([PlanState.REJECTED.value, PlanState.STALE.value])
"""States of a plan that, not being carried out, is its author's again."""
BEGUN_NAMES = sorted([PlanState.EXECUTING.value, PlanState.EXECUTED.value])
ROLLED_BACK = "plan"
"""The kind of source of a plan that rolls another one back: that plan."""
SHA256 = r"^[0-9a-f]{64}$"


class Decision(models.TextChoices):
    """Name what a reviewer decides."""

    APPROVE = "approve", "Approve"
    REJECT = "reject", "Reject"


class Plan(BaseModel):
    """Store ordered steps from what is in force to what a proposal asks for, as canonical bytes."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="plans")
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=32)
    title = models.CharField(max_length=200)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    # Who set up the schedule or trigger that made the plan: no more a judge of it than its author.
    answerable = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    # Everybody who had a hand in that schedule or trigger; not told who is who, only kept apart.
    shaped_by: "ArrayField[list[int], list[int]]" = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="Keys of the people who had a hand in what made it.",
    )
    by_itself = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Weir approves and executes it, as far as the policy lets it.",
    )
    state = models.CharField(max_length=16, default=PlanState.DRAFT)

    document = models.BinaryField()
    content_hash = models.CharField(max_length=64)
    model_version = models.PositiveIntegerField()
    snapshot_hash = models.CharField(max_length=64, blank=True)
    source_kind = models.CharField(max_length=32)
    source_id = models.UUIDField(null=True)
    source_name = models.CharField(max_length=200, blank=True)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="plans")
    blast_radius: "models.JSONField[Any, Any]" = models.JSONField(default=dict)

    submitted_at = models.DateTimeField(null=True)
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    waiting_since = models.DateTimeField(null=True, help_text="Since when a review is due.")
    expires_at = models.DateTimeField(null=True, help_text="When the first approval lapses.")
    stale_because = models.TextField(blank=True)
    accepted_overload = models.TextField(
        blank=True, help_text="Why it may load more than a capacity; empty: it may not."
    )
    accepted_overload_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    accepted_overload_at = models.DateTimeField(null=True)
    superseded_by = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="supersedes"
    )
    execution = models.OneToOneField(
        Execution, on_delete=models.RESTRICT, null=True, related_name="plan"
    )
    # Nobody approves it: it is no part of the document, and anybody who proposes plans corrects it.
    change_ticket = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The change record elsewhere, or its address; empty: none was named.",
    )

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["system", "-id"], name="plan_by_system"),
            models.Index(fields=["state", "system"], name="plan_by_state"),
            models.Index(fields=["updated_at"], name="plan_by_change"),
            models.Index(
                fields=["updated_at"],
                condition=Q(state__in=CAME_BACK_NAMES, execution=None),
                name="plan_that_came_back",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["system", "number"], name="plan_number_once"),
            models.UniqueConstraint(
                fields=["system"],
                condition=Q(state=PlanState.EXECUTING.value),
                name="one_plan_executing_per_system",
            ),
            models.CheckConstraint(condition=Q(state__in=STATE_NAMES), name="plan_state_known"),
            models.CheckConstraint(
                condition=Q(content_hash__regex=SHA256), name="plan_hash_is_sha256"
            ),
            models.CheckConstraint(
                condition=~Q(state=PlanState.STALE.value) | ~Q(stale_because=""),
                name="plan_stale_has_a_reason",
            ),
            models.CheckConstraint(
                condition=~Q(state=PlanState.PENDING_REVIEW.value)
                | Q(submitted_at__isnull=False, waiting_since__isnull=False),
                name="plan_in_review_was_submitted",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=BEGUN_NAMES) | Q(execution__isnull=False),
                name="plan_begun_has_an_execution",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=UNSETTLED_NAMES) | Q(execution=None),
                name="plan_unsettled_has_no_execution",
            ),
            models.CheckConstraint(
                condition=~Q(state=PlanState.APPROVED.value) | Q(expires_at__isnull=False),
                name="plan_approved_has_an_end",
            ),
            models.CheckConstraint(
                condition=Q(
                    accepted_overload="", accepted_overload_by=None, accepted_overload_at=None
                )
                | (
                    ~Q(accepted_overload="")
                    & Q(accepted_overload_by__isnull=False, accepted_overload_at__isnull=False)
                ),
                name="plan_overload_accepted_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"P-{self.number}"

    @property
    def people_behind(self) -> frozenset[int]:
        """Return whose plan it is: who made it, sent it for review, or had a hand in what made
        it."""
        named = (self.author_id, self.submitted_by_id, self.answerable_id)
        return frozenset(key for key in (*named, *self.shaped_by) if key is not None)

    @property
    def rolls_back(self) -> bool:
        """Tell whether it takes back what another plan put in force."""
        return self.source_kind == ROLLED_BACK

    @cached_property
    def content(self) -> Document:
        """Return the plan's document. Its bytes never change, so it is read once per instance."""
        return plan_from_dict(json.loads(bytes(self.document)))


class Approval(BaseModel):
    """Store one person's decision about one content of a plan, on one version of the model.

    Never edited; it only ends, once, with a reason: the plan was withdrawn, the time ran out.
    `person` None: Weir itself, by the system's policy.
    """

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="approvals")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decision = models.CharField(max_length=8, choices=Decision.choices)
    comment = models.TextField(blank=True)
    content_hash = models.CharField(max_length=64)
    model_version = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_because = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "person"],
                condition=Q(ended_at=None),
                name="one_live_decision_per_person",
                nulls_distinct=False,
            ),
            models.CheckConstraint(
                condition=Q(decision__in=Decision.values), name="decision_known"
            ),
            models.CheckConstraint(
                condition=Q(content_hash__regex=SHA256), name="decision_names_a_hash"
            ),
            models.CheckConstraint(
                condition=~Q(decision=Decision.APPROVE) | Q(expires_at__isnull=False),
                name="approval_has_an_end",
            ),
            models.CheckConstraint(
                condition=~Q(decision=Decision.REJECT) | ~Q(comment=""),
                name="rejection_says_why",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, ended_because="")
                | (Q(ended_at__isnull=False) & ~Q(ended_because="")),
                name="decision_ended_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision} of {self.plan}"


class PlanEvent(models.Model):
    """Store the history of a plan, written in the transaction of each transition; never edited."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    actor_name = models.CharField(max_length=150)
    command = models.CharField(max_length=32)
    state = models.CharField(max_length=16)
    title = models.CharField(max_length=200)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.plan} {self.command}"


class Verification(BaseModel):
    """Store what was measured before and after a plan was carried out, and the verdict about it."""

    plan = models.OneToOneField(Plan, on_delete=models.CASCADE, related_name="verification")
    window_s = models.PositiveIntegerField(
        default=DEFAULT_TERMS.judge_window_s,
        db_default=DEFAULT_TERMS.judge_window_s,
        help_text="How long is measured, before and after; as the policy was when it began.",
    )
    before: "models.JSONField[Any, Any]" = models.JSONField(
        null=True, help_text="The utility measured in the window before, block by block."
    )
    after: "models.JSONField[Any, Any]" = models.JSONField(
        null=True, help_text="The same after the execution."
    )
    figures_before: "models.JSONField[Any, Any]" = models.JSONField(
        null=True, help_text="What was measured before of rates, consumers and the fullest place."
    )
    parts: "models.JSONField[Any, Any]" = models.JSONField(
        default=list,
        db_default=[],
        help_text="The parts of the promise, as they were judged; empty: not yet, or none.",
    )
    judged = models.CharField(max_length=16, blank=True, help_text="Empty: not yet.")
    because = models.TextField(blank=True)
    judged_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(judged="", judged_at=None)
                | (~Q(judged="") & ~Q(because="") & Q(judged_at__isnull=False)),
                name="verdict_has_its_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"verdict on {self.plan}"
