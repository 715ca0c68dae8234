"""Store connections to products, the changes that plans opened there, and what waits to be sent."""

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.models import BaseModel
from apps.integrations.domain.contract import Approval, Ending, Record
from apps.plans.models import Plan
from apps.systems.models import System
from weir.lifecycle.changes import ChangeState

# Sorted, so that the constraints read the same in every process and need no new migration.
CHANGE_STATE_NAMES = sorted(state.value for state in ChangeState)
APPROVAL_NAMES = sorted(approval.value for approval in Approval)
ENDING_NAMES = sorted(ending.value for ending in Ending)
LIVE_NAMES = sorted([ChangeState.OPENING.value, ChangeState.OPEN.value])
"""States of a change that its plan counts on; others may be ending beside it."""
EXCHANGES_KEPT = 200
"""Exchanges that are kept of each connection: as many that write, and as many that read."""

READ = "GET"
"""The method of requests that change nothing at the other side."""


class MessageKind(models.TextChoices):
    """Name what is sent about a change."""

    OPEN = "open", "Open it"
    COMMENT = "comment", "Comment"
    BEGIN = "begin", "It is being carried out"
    END = "end", "Close or cancel it"


class Connection(BaseModel):
    """A product at an address, and the systems whose plans open their changes there.

    One worker at a time sends what is waiting: the one that holds the claim.
    """

    name = models.CharField(max_length=100, unique=True)
    product = models.CharField(max_length=32)
    enabled = models.BooleanField(default=True)
    settings: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    credential = models.CharField(
        max_length=300, blank=True, help_text="Where the credential is, never the credential."
    )
    approval_needed = models.BooleanField(
        default=True, help_text="Plans are executed only once their change is approved."
    )
    window_from_change = models.BooleanField(
        default=False, help_text="Plans are executed only between the change's start and end."
    )
    systems: "models.ManyToManyField[System, ConnectedSystem]" = models.ManyToManyField(
        System, through="ConnectedSystem", related_name="connections"
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    claimed_by = models.UUIDField(null=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)
    worked_at = models.DateTimeField(
        null=True, editable=False, help_text="When a worker had it last."
    )
    failures = models.PositiveIntegerField(default=0, editable=False)
    problem = models.TextField(blank=True, editable=False, help_text="Why it does not answer.")
    retry_at = models.DateTimeField(null=True, editable=False)
    answered_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="connection_name_given"),
            models.CheckConstraint(
                condition=Q(problem="") | Q(retry_at__isnull=False),
                name="connection_with_a_problem_is_tried_again",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ConnectedSystem(models.Model):
    """A system whose plans open their changes at a connection; no system has two."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="connected")
    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="connected_to")
    since = models.DateTimeField(
        default=timezone.now, help_text="Plans that were executed before open no change."
    )

    def __str__(self) -> str:
        return f"{self.system} at {self.connection}"


class Change(BaseModel):
    """A change that a plan opened; its public id is the correlation id at the other side."""

    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="changes")
    connection = models.ForeignKey(Connection, on_delete=models.PROTECT, related_name="changes")
    state = models.CharField(max_length=8, default=ChangeState.OPENING)
    ending = models.CharField(max_length=16, blank=True, help_text="How it ends; empty: not yet.")

    record_id = models.CharField(max_length=200, blank=True, help_text="Its key there.")
    number = models.CharField(max_length=100, blank=True)
    link = models.CharField(max_length=1000, blank=True)
    state_there = models.CharField(max_length=100, blank=True, help_text="As people there see it.")
    approval = models.CharField(max_length=8, default=Approval.WAITING)
    over_there = models.BooleanField(default=False, help_text="Closed or cancelled there.")
    starts_at = models.DateTimeField(null=True, help_text="Planned start there.")
    ends_at = models.DateTimeField(null=True, help_text="Planned end there.")
    looked_at = models.DateTimeField(null=True, help_text="When its state was read last.")
    problem = models.TextField(blank=True, help_text="Why it cannot be read.")
    look_failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    next_look_at = models.DateTimeField(null=True, help_text="Not read before; null: as usual.")

    begun = models.BooleanField(default=False, help_text="That the plan is executed was queued.")
    steps_noted = models.PositiveIntegerField(default=0, help_text="Steps in comments so far.")
    state_noted = models.CharField(
        max_length=16, blank=True, help_text="State of the execution that a comment named last."
    )
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["connection", "state"],
                condition=~Q(state=ChangeState.CLOSED.value),
                name="change_not_closed",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["plan"],
                condition=Q(state__in=LIVE_NAMES),
                name="one_change_at_a_time_per_plan",
            ),
            models.CheckConstraint(
                condition=Q(state__in=CHANGE_STATE_NAMES), name="change_state_known"
            ),
            models.CheckConstraint(
                condition=Q(approval__in=APPROVAL_NAMES), name="change_approval_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[ChangeState.OPENING.value, ChangeState.OPEN.value], ending=""
                )
                | Q(
                    state__in=[ChangeState.CLOSED.value, ChangeState.ENDING.value],
                    ending__in=ENDING_NAMES,
                ),
                name="change_that_ends_says_how",
            ),
            models.CheckConstraint(
                condition=~Q(state=ChangeState.OPEN.value) | ~Q(record_id=""),
                name="change_open_has_a_record",
            ),
        ]

    def __str__(self) -> str:
        return f"Change {self.number}" if self.number else f"The change of {self.plan}"

    @property
    def key(self) -> str:
        """Return the correlation id."""
        return str(self.public_id)

    @property
    def record(self) -> Record | None:
        """Return how the other side knows it; None: it does not, as far as is known."""
        if not self.record_id:
            return None
        return Record(id=self.record_id, key=self.key, number=self.number, link=self.link)


class Message(BaseModel):
    """What waits to be sent about a change, or was sent; those of a change go in their order.

    The public id of a comment stands in it, so that it can be recognised at the other side.
    """

    change = models.ForeignKey(Change, on_delete=models.CASCADE, related_name="messages")
    kind = models.CharField(max_length=8, choices=MessageKind.choices)
    payload: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now, help_text="Not before.")
    settles_at = models.DateTimeField(
        null=True, help_text="Until then an attempt without an answer may still be carried out."
    )
    refused = models.BooleanField(
        default=False, help_text="By the last attempt. Comments go past a refused begin."
    )
    problem = models.TextField(blank=True, help_text="Why it was not sent, or not needed.")
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["change", "id"], condition=Q(sent_at=None), name="message_waiting")
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=MessageKind.values), name="message_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.change}"

    @property
    def due_at(self) -> datetime:
        """Return when it is tried next, at the earliest."""
        return max(self.next_at, self.settles_at or self.next_at)


class Exchange(models.Model):
    """One request to the other side with its answer, secrets masked; the last ones are kept.

    Requests that read, and are answered as the time before, are one row.
    """

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="exchanges")
    change = models.ForeignKey(
        Change, on_delete=models.SET_NULL, null=True, related_name="exchanges"
    )
    at = models.DateTimeField(help_text="The last time.")
    first_at = models.DateTimeField(default=timezone.now, help_text="The first time.")
    times = models.PositiveIntegerField(default=1)
    method = models.CharField(max_length=8)
    address = models.CharField(max_length=2000)
    status = models.PositiveSmallIntegerField(null=True, help_text="Null: no answer.")
    request = models.TextField(blank=True)
    response = models.TextField(blank=True)
    failure = models.TextField(blank=True)
    seconds = models.FloatField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["connection", "-at"], name="exchange_by_connection")]

    def __str__(self) -> str:
        return f"{self.method} {self.address}"
