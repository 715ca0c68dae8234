"""Whoever is told of what is new: people by e-mail, channels of chats by their webhook."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db.models import Count, Min

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.inbox.domain.items import AUDIENCE, ItemKind
from apps.inbox.models import Item
from apps.inbox.selectors import inbox_of
from apps.notifications.domain.lines import CHANNELS_PAGE, Line, Missed, subject_of
from apps.notifications.domain.mail import body_of
from apps.notifications.domain.slack import slack_message
from apps.notifications.domain.teams import teams_message
from apps.notifications.domain.timing import Rhythm
from apps.notifications.models import Channel, Message, NotificationSettings, Shape

WRITERS: Mapping[str, Callable[..., dict[str, Any]]] = {
    Shape.SLACK: slack_message,
    Shape.TEAMS: teams_message,
}


class Recipient(ABC):
    """Whoever is told, as rows name them, with what they want to hear of and when."""

    column: str
    """What names them in notices and messages."""

    @property
    @abstractmethod
    def key(self) -> int:
        """Return the key of their row."""

    @property
    @abstractmethod
    def rhythm(self) -> Rhythm:
        """Return when they are written to."""

    @property
    def named(self) -> dict[str, int]:
        """Return what their notices and messages have in common."""
        return {f"{self.column}_id": self.key}

    @abstractmethod
    def hears_of(self, item: Item) -> bool:
        """Return whether they want to hear of an item, as far as the item itself says."""

    def confirmed(self, items: Sequence[Item], now: datetime) -> Collection[int]:
        """Return the keys of those that are for them, of items of which they want to hear."""
        return {item.pk for item in items}

    @abstractmethod
    def wanted(self, now: datetime) -> set[int]:
        """Return the keys of all items that stand and of which they want to hear."""

    @abstractmethod
    def written(self, lines: Sequence[Line]) -> Message:
        """Return a message to them that says this, unsaved."""

    def takes(self, message: Message) -> bool:
        """Return whether a message goes where it was written to."""
        return True


@dataclass(frozen=True)
class Person(Recipient):
    """Somebody with an e-mail address."""

    row: User
    column = "person"

    @property
    def key(self) -> int:
        return self.row.pk

    @cached_property
    def chosen(self) -> NotificationSettings:
        """Return what they have chosen."""
        return settings_of(self.row)

    @property
    def rhythm(self) -> Rhythm:
        return self.chosen.rhythm

    @property
    def is_reached(self) -> bool:
        """Return whether they want e-mail, and can have it."""
        return self.chosen.by_email and self.row.is_active and bool(self.row.email)

    def hears_of(self, item: Item) -> bool:
        by_role = AUDIENCE[ItemKind(item.kind)] & self.row.permissions
        own = item.person_id == self.row.pk and Permission.PROPOSE_PLAN in self.row.permissions
        return item.kind in self.chosen.kinds and (bool(by_role) or own)

    def confirmed(self, items: Sequence[Item], now: datetime) -> Collection[int]:
        if any(item.kind == ItemKind.PLAN_TO_REVIEW for item in items):
            # Who may still judge a plan is for the inbox to say.
            return {item.pk for item in inbox_of(self.row, self.row.permissions, now)}
        return super().confirmed(items, now)

    def wanted(self, now: datetime) -> set[int]:
        if not self.is_reached:
            return set()
        items = inbox_of(self.row, self.row.permissions, now)
        return {item.pk for item in items if item.kind in self.chosen.kinds}

    def written(self, lines: Sequence[Line]) -> Message:
        return Message(
            person=self.row,
            address=self.row.email,
            subject=subject_of(lines),
            body=body_of(lines, web_url=settings.WEIR_PUBLIC_URL, timezone=self.chosen.timezone),
        )

    def takes(self, message: Message) -> bool:
        return message.address == self.row.email


@dataclass(frozen=True)
class ChatChannel(Recipient):
    """A channel of a chat, with its systems."""

    row: Channel
    column = "channel"

    @property
    def key(self) -> int:
        return self.row.pk

    @property
    def rhythm(self) -> Rhythm:
        return self.row.rhythm

    @cached_property
    def systems(self) -> frozenset[int]:
        """Return the keys of the systems that were chosen."""
        return frozenset(system.pk for system in self.row.systems.all())

    def hears_of(self, item: Item) -> bool:
        # Once it takes a message that it takes none, it is no longer true.
        own = item.kind == ItemKind.CHANNEL_FAILING and item.about == str(self.row.public_id)
        in_scope = self.row.all_systems or item.system_id in self.systems
        return item.kind in self.row.kinds and in_scope and not own

    def wanted(self, now: datetime) -> set[int]:
        if not self.row.enabled:
            return set()
        return {item.pk for item in Item.objects.filter(ended_at=None) if self.hears_of(item)}

    def written(self, lines: Sequence[Line]) -> Message:
        return self._message(lines, self._missed())

    def _message(self, lines: Sequence[Line], missed: Missed | None) -> Message:
        body = WRITERS[self.row.shape](
            lines, web_url=settings.WEIR_PUBLIC_URL, timezone=self.row.timezone, missed=missed
        )
        return Message(
            channel=self.row,
            subject=subject_of(lines),
            body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        )

    def _missed(self) -> Missed | None:
        """Return how much was given up since a message said so; None: nothing was."""
        rows = Message.objects.filter(channel=self.row, is_missed=True)
        missed = rows.aggregate(count=Count("pk"), since=Min("given_up_at"))
        return Missed(**missed) if missed["count"] else None

    def test(self, sender: str, now: datetime) -> Message:
        """Return a message that only shows that the channel works, unsaved."""
        line = Line(
            title=f"This is a test of the channel {self.row}",
            detail=f"{sender} has sent it from Weir. Nobody has to do anything.",
            system="",
            page=CHANNELS_PAGE,
            since=now,
            waits=False,
            worse=False,
        )
        message = self._message([line], None)
        message.is_test = True
        return message


def settings_of(person: User) -> NotificationSettings:
    """Return somebody's settings, or the defaults, not stored. `select_related` them."""
    row: NotificationSettings | None = getattr(person, "notification_settings", None)
    return row or NotificationSettings(person=person, version=0)


def recipients() -> Iterator[Recipient]:
    """Yield everybody who can be told something: people once there is a mail server."""
    if settings.EMAIL_HOST:
        people = (
            User.objects.filter(is_active=True, automatic=False)
            .exclude(email="")
            .select_related("notification_settings")
            .order_by("id")
        )
        yield from (person for person in map(Person, people) if person.is_reached)
    channels = Channel.objects.filter(enabled=True).prefetch_related("systems").order_by("id")
    yield from map(ChatChannel, channels)


def recipient_locked(person: int | None, channel: int | None) -> Recipient | None:
    """Return the person or the channel with this key, their row locked until the transaction ends;
    None: they were deleted."""
    if person is not None:
        people = User.objects.select_related("notification_settings")
        somebody = people.select_for_update(of=("self",), no_key=True).filter(pk=person).first()
        return None if somebody is None else Person(somebody)
    rows = Channel.objects.select_for_update(no_key=True)
    row = None if channel is None else rows.filter(pk=channel).first()
    return None if row is None else ChatChannel(row)
