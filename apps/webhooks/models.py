"""Store webhooks, what they are sent, and how each attempt went."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.common.models import BaseModel
from apps.systems.models import System
from weir.lifecycle.deliveries import DeliveryState

PER_WEBHOOK = 10_000
"""Deliveries that have ended and are kept of each webhook, at most."""

KEPT_DAYS = 30
STATE_NAMES = sorted(state.value for state in DeliveryState)


class Webhook(BaseModel):
    """An address of another system, and the events that it wants to hear of."""

    name = models.CharField(max_length=100, unique=True)
    description = models.CharField(max_length=300, blank=True)
    address = models.CharField(max_length=2000)
    types: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    all_systems = models.BooleanField(default=True)
    systems = models.ManyToManyField(
        System, through="ChosenSystem", related_name="webhooks", blank=True
    )
    enabled = models.BooleanField(default=True)
    disabled_because = models.TextField(blank=True)
    generation = models.PositiveIntegerField(default=1, help_text="Of the secret.")
    previous_until = models.DateTimeField(
        null=True, help_text="Until then the secret before signs as well."
    )
    fingerprint = models.CharField(max_length=8)
    read_to = models.BigIntegerField(default=0, help_text="The number of the last event looked at.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    failing_since = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True, help_text="When it took something last.")
    claimed_by = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    worked_at = models.DateTimeField(null=True, help_text="When a worker sent for it last.")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ChosenSystem(models.Model):
    """A system that a webhook hears of. It outlives the system, whose deletion is an event too."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="chosen")
    system = models.ForeignKey(
        System,
        to_field="public_id",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["webhook", "system"], name="system_once_per_webhook")
        ]

    def __str__(self) -> str:
        return f"{self.system_id} for {self.webhook}"


class Delivery(BaseModel):
    """One event for one webhook. Its public id is the id of the message at every attempt."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    entry = models.ForeignKey(
        AuditEntry, on_delete=models.DO_NOTHING, db_constraint=False, null=True, related_name="+"
    )
    type = models.CharField(max_length=140)
    subject = models.CharField(max_length=120)
    body = models.TextField(help_text="Written once, so that each attempt sends the same bytes.")
    state = models.CharField(max_length=9, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    urgent = models.BooleanField(
        default=False, help_text="Somebody waits for it: it is sent before all others."
    )
    next_at = models.DateTimeField(default=timezone.now, help_text="Not before.")
    problem = models.TextField(blank=True, help_text="Why the last attempt failed.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(
                fields=["webhook", "next_at"],
                condition=Q(state=DeliveryState.WAITING.value),
                name="delivery_waiting",
            ),
            models.Index(
                fields=["webhook", "-urgent", "attempts", "id"],
                condition=Q(state=DeliveryState.WAITING.value),
                name="delivery_in_order",
            ),
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "entry"], name="delivery_once_per_webhook"),
            models.CheckConstraint(condition=Q(state__in=STATE_NAMES), name="delivery_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.type} for {self.webhook}"


class Attempt(models.Model):
    """One request of a delivery, and what was answered."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tries")
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, help_text="Null: no answer.")
    response = models.TextField(blank=True)
    failure = models.TextField(blank=True)
    seconds = models.FloatField()

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.status or self.failure} at {self.at}"
