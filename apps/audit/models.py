"""Store the append-only record; a trigger in the database rejects changes and deletions.

Whoever follows the record cannot go by the ids of entries: a transaction that commits late brings
smaller ones than were read before. So each entry gets a number once it is visible, as an event.
"""

from typing import Any

from django.conf import settings
from django.db import models

from apps.common.models import BaseModel

FOR_ADMINISTRATORS = ("session",)
"""Kinds of entries that only administrators see: who signed in from where."""


class AuditEntry(BaseModel):
    """Record one action of a person or of Weir."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.DO_NOTHING, null=True, db_constraint=False
    )
    actor_name = models.CharField(max_length=150)
    action = models.CharField(max_length=64)
    object_kind = models.CharField(max_length=64)
    object_id = models.UUIDField()
    object_name = models.CharField(max_length=200)
    system_id = models.UUIDField(null=True)
    model_version = models.PositiveIntegerField(null=True)
    before: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["object_id", "-id"], name="audit_by_object"),
            models.Index(fields=["system_id", "-id"], name="audit_by_system"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.action} {self.object_kind} {self.object_name}"


class NewEntry(models.Model):
    """An entry that has no number yet; a trigger in the database writes it with the entry."""

    entry = models.OneToOneField(
        AuditEntry,
        primary_key=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )

    def __str__(self) -> str:
        return f"entry {self.entry_id}"


class Event(models.Model):
    """The number of an entry: whoever has read up to one has missed none before it.

    They are in order for each object, and no smaller one comes later.
    """

    number = models.BigIntegerField(primary_key=True)
    entry = models.OneToOneField(
        AuditEntry, on_delete=models.DO_NOTHING, db_constraint=False, related_name="event"
    )

    def __str__(self) -> str:
        return f"event {self.number}"
