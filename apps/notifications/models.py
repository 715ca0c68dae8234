"""Store when and of what people and channels are told, and what they were told."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.models import BaseModel
from apps.inbox.domain.items import ItemKind
from apps.inbox.models import Item
from apps.notifications.domain.timing import Rhythm
from apps.systems.models import System

BY_DEFAULT = sorted(set(ItemKind) - {ItemKind.EXECUTION_PAUSED})
"""What people are told of until they choose: all but what somebody has just done by hand."""

KIND_NAMES = sorted(kind.value for kind in ItemKind)


def kinds_by_default() -> list[str]:
    """Return the choice of somebody who has made none."""
    return [kind.value for kind in BY_DEFAULT]


KNOWN_KINDS = Q(kinds__contained_by=KIND_NAMES)
BOTH_ENDS = Q(quiet_from=None, quiet_until=None) | Q(
    quiet_from__isnull=False, quiet_until__isnull=False
)
FOR_ONE = Q(person=None, channel__isnull=False) | Q(person__isnull=False, channel=None)


class Choice(BaseModel):
    """What a person or a channel is told of, and when."""

    kinds: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=32), default=kinds_by_default, blank=True
    )
    timezone = models.CharField(max_length=64, default="UTC")
    digest_at = models.TimeField(null=True)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        abstract = True

    @property
    def rhythm(self) -> Rhythm:
        """Return when messages are sent."""
        return Rhythm(
            timezone=self.timezone,
            digest_at=self.digest_at,
            quiet_from=self.quiet_from,
            quiet_until=self.quiet_until,
        )


class NotificationSettings(Choice):
    """What one person is told by e-mail, and when; without a row the defaults hold."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notification_settings"
    )
    by_email = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=KNOWN_KINDS, name="notified_of_known_kinds"),
            models.CheckConstraint(condition=BOTH_ENDS, name="quiet_hours_have_both_ends"),
        ]

    def __str__(self) -> str:
        return f"notifications of {self.person}"


class Shape(models.TextChoices):
    """Name the chats whose incoming webhooks take messages."""

    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"


class ChannelTestOutcome(models.TextChoices):
    """Name what became of the last test of a channel."""

    NONE = "none", "No test was asked for"
    WAITING = "waiting", "It waits to be posted"
    DELIVERED = "delivered", "The chat took it"
    ACCEPTED = "accepted", "The chat accepted it, and says nothing of what becomes of it"
    FAILED = "failed", "It was not taken, or nobody knows whether it was"


TEST_ENDED = [ChannelTestOutcome.DELIVERED, ChannelTestOutcome.ACCEPTED, ChannelTestOutcome.FAILED]
TIMES_OF_OUTCOME = (
    Q(test_outcome=ChannelTestOutcome.NONE, test_asked_at=None, test_ended_at=None)
    | Q(test_outcome=ChannelTestOutcome.WAITING, test_asked_at__isnull=False, test_ended_at=None)
    | Q(test_outcome__in=TEST_ENDED, test_asked_at__isnull=False, test_ended_at__isnull=False)
)


class Channel(Choice):
    """A channel of a chat, and how what was posted to it last went."""

    name = models.CharField(max_length=100, unique=True)
    shape = models.CharField(max_length=8, choices=Shape.choices)
    credential = models.CharField(
        max_length=300, help_text="Where the address of its incoming webhook is; never the address."
    )
    all_systems = models.BooleanField(default=True)
    systems = models.ManyToManyField(
        System, through="ChannelSystem", related_name="channels", blank=True
    )
    enabled = models.BooleanField(default=True)
    tried_at = models.DateTimeField(null=True)
    last_sent_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    failing_since = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True)
    test_outcome = models.CharField(
        max_length=9,
        choices=ChannelTestOutcome.choices,
        default=ChannelTestOutcome.NONE,
        db_default=ChannelTestOutcome.NONE,
        help_text="Of the last test, whatever came of other messages.",
    )
    test_asked_at = models.DateTimeField(null=True)
    test_ended_at = models.DateTimeField(null=True)
    test_problem = models.TextField(blank=True, default="", db_default="")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=KNOWN_KINDS, name="channel_hears_of_known_kinds"),
            models.CheckConstraint(
                condition=BOTH_ENDS, name="quiet_hours_of_channel_have_both_ends"
            ),
            models.CheckConstraint(condition=Q(shape__in=Shape.values), name="channel_shape_known"),
            models.CheckConstraint(
                condition=TIMES_OF_OUTCOME, name="channel_test_has_times_of_outcome"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ChannelSystem(models.Model):
    """A system of which a channel hears. Deleting a system waits for no channel."""

    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="chosen")
    system = models.ForeignKey(
        System,
        to_field="public_id",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["channel", "system"], name="system_once_per_channel")
        ]

    def __str__(self) -> str:
        return f"{self.system_id} for {self.channel}"


class Reason(models.TextChoices):
    """Name why somebody is told of an item."""

    STANDS = "stands", "It is in their inbox"
    WAITS = "waits", "It began to wait for somebody"
    WORSE = "worse", "It got worse"


class Message(BaseModel):
    """One e-mail, or message in a chat, as it was written: each attempt sends the same."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="messages"
    )
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, null=True, related_name="messages"
    )
    is_test = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It only shows that the channel works: once, and at any hour.",
    )
    address = models.EmailField(
        blank=True, help_text="The person's, when it was written; empty for a channel."
    )
    subject = models.CharField(max_length=200)
    body = models.TextField()
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now, help_text="Not before.")
    failing_since = models.DateTimeField(null=True)
    problem = models.TextField(blank=True, help_text="Why the last attempt failed.")
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    is_missed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its channel never got it, and has taken no message since that says so.",
    )

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["channel", "given_up_at"],
                condition=Q(is_missed=True),
                name="message_missed",
            ),
            models.Index(
                fields=["attempts", "next_at"],
                condition=Q(sent_at=None, given_up_at=None),
                name="message_to_be_mailed",
            ),
            models.Index(fields=["person", "-id"], name="message_by_person"),
            models.Index(fields=["channel", "-id"], name="message_by_channel"),
        ]
        constraints = [
            models.CheckConstraint(condition=FOR_ONE, name="message_for_one"),
            models.CheckConstraint(
                condition=Q(sent_at=None) | Q(given_up_at=None), name="message_ends_one_way"
            ),
            models.CheckConstraint(
                condition=Q(is_missed=False)
                | Q(channel__isnull=False, given_up_at__isnull=False, is_test=False),
                name="what_a_channel_missed_was_given_up",
            ),
        ]

    def __str__(self) -> str:
        return self.subject


class Notice(BaseModel):
    """What one person or channel is to be told of one item, for one reason."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="notices"
    )
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, null=True, related_name="notices"
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
            models.Index(fields=["channel", "item"], name="notice_by_channel"),
        ]
        constraints = [
            models.CheckConstraint(condition=FOR_ONE, name="notice_for_one"),
            models.UniqueConstraint(
                fields=["channel", "item"],
                condition=Q(message=None, over_at=None),
                name="one_notice_waits_per_channel",
            ),
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
        return f"{self.item} for {self.person or self.channel}"
