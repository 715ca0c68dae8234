"""Store when and of what people are told, and what they were told."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.models import BaseModel
from apps.inbox.domain.items import ItemKind
from apps.inbox.models import Item
from apps.notifications.domain.timing import Rhythm

BY_DEFAULT = sorted(set(ItemKind) - {ItemKind.EXECUTION_PAUSED})
"""What people are told of until they choose: all but what somebody has just done by hand."""

KIND_NAMES = sorted(kind.value for kind in ItemKind)


def kinds_by_default() -> list[str]:
    """Return the choice of somebody who has made none."""
    return [kind.value for kind in BY_DEFAULT]


class NotificationSettings(BaseModel):
    """What one person is told by e-mail, and when; without a row the defaults hold."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notification_settings"
    )
    by_email = models.BooleanField(default=True)
    kinds: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=32), default=kinds_by_default, blank=True
    )
    timezone = models.CharField(max_length=64, default="UTC")
    digest_at = models.TimeField(null=True)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kinds__contained_by=KIND_NAMES), name="notified_of_known_kinds"
            ),
            models.CheckConstraint(
                condition=Q(quiet_from=None, quiet_until=None)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="quiet_hours_have_both_ends",
            ),
        ]

    def __str__(self) -> str:
        return f"notifications of {self.person}"

    @property
    def rhythm(self) -> Rhythm:
        """Return when the person is written to."""
        return Rhythm(
            timezone=self.timezone,
            digest_at=self.digest_at,
            quiet_from=self.quiet_from,
            quiet_until=self.quiet_until,
        )


class Reason(models.TextChoices):
    """Name why somebody is told of an item."""

    STANDS = "stands", "It is in their inbox"
    WAITS = "waits", "It began to wait for somebody"
    WORSE = "worse", "It got worse"


class Message(BaseModel):
    """One e-mail, as it was written: each attempt sends the same, under the same id."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="messages"
    )
    address = models.EmailField(help_text="The person's, when it was written.")
    subject = models.CharField(max_length=200)
    body = models.TextField()
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now, help_text="Not before.")
    failing_since = models.DateTimeField(null=True)
    problem = models.TextField(blank=True, help_text="Why the last attempt failed.")
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["attempts", "next_at"],
                condition=Q(sent_at=None, given_up_at=None),
                name="message_to_be_mailed",
            ),
            models.Index(fields=["person", "-id"], name="message_by_person"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(sent_at=None) | Q(given_up_at=None), name="message_ends_one_way"
            )
        ]

    def __str__(self) -> str:
        return self.subject


class Notice(BaseModel):
    """What one person is to be told of one item, for one reason."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices"
    )
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="notices")
    reason = models.CharField(max_length=8, choices=Reason.choices)
    due_at = models.DateTimeField()
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, null=True, related_name="notices"
    )
    over_at = models.DateTimeField(
        null=True, help_text="When it was due, and the item was over or no longer wanted."
    )

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(message=None, over_at=None), name="notice_waiting"
            ),
            models.Index(fields=["item", "person"], name="notice_of_item"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["person", "item"],
                condition=Q(message=None, over_at=None),
                name="one_notice_waits_per_item",
            ),
            models.CheckConstraint(
                condition=Q(reason__in=Reason.values), name="notice_reason_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item} for {self.person}"
