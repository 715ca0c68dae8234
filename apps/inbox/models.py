"""Store what waits for people, or what they should know, from when it began until it was over."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.inbox.domain.items import ItemKind
from apps.systems.models import System

KEPT = timedelta(days=30)
"""How long an item that is over is kept."""

KIND_NAMES = sorted(kind.value for kind in ItemKind)


class Item(BaseModel):
    """One cause from beginning to end. A cause that comes back is another item."""

    kind = models.CharField(max_length=32)
    about = models.CharField(max_length=64, help_text="The id of what it is about.")
    # An item is written while a system may be being deleted; it ends at the next look.
    system = models.ForeignKey(
        System, on_delete=models.DO_NOTHING, null=True, db_constraint=False, related_name="+"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        help_text="Called whatever their roles.",
    )
    title = models.CharField(max_length=300)
    detail = models.TextField(blank=True)
    page = models.CharField(max_length=200)
    waits = models.BooleanField(
        help_text="Something goes on only once somebody decides, or somebody must look now."
    )
    members: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    since = models.DateTimeField()
    waits_since = models.DateTimeField(
        null=True, help_text="When it began to wait for somebody, the first time."
    )
    grew_at = models.DateTimeField(
        null=True, help_text="When it got another member, or happened again after a pause."
    )
    latest_at = models.DateTimeField(null=True, help_text="When the newest of it happened.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["ended_at"], condition=Q(ended_at__isnull=False), name="item_that_is_over"
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "about"], condition=Q(ended_at=None), name="item_once_at_a_time"
            ),
            models.CheckConstraint(condition=Q(kind__in=KIND_NAMES), name="item_kind_known"),
        ]

    def __str__(self) -> str:
        return self.title
