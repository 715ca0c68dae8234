"""Read channels for lists, and those that fail for the inbox."""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from django.db.models import (
    Count,
    Exists,
    IntegerField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce

from apps.inbox.domain.items import Cause, ItemKind, Source
from apps.notifications.domain.lines import CHANNELS_PAGE
from apps.notifications.models import Channel, Message, Notice
from apps.webhooks.domain.retries import FAILING

M = TypeVar("M", bound=Model)


def channel_rows() -> QuerySet[Channel]:
    """Return the channels with their systems, how much waits to be sent to each (messages, and
    notices that are in none yet), and how many messages each has missed since when."""
    notices = Notice.objects.filter(message=None, over_at=None)
    messages = Message.objects.filter(sent_at=None, given_up_at=None)
    missed = Message.objects.filter(is_missed=True)
    first = missed.filter(channel=OuterRef("pk")).order_by("given_up_at")
    return Channel.objects.prefetch_related("systems").annotate(
        waiting=_count(notices) + _count(messages),
        missed=_count(missed),
        missed_since=Subquery(first.values("given_up_at")[:1]),
    )


def failing_channels(now: datetime) -> Iterator[Cause]:
    """Yield channels that take no messages, tried again and again, or that missed one. Why says
    their page: channels hear of items, and who reads those sees no credential's name."""
    given_up = Message.objects.filter(
        channel=OuterRef("pk"), is_missed=True, given_up_at__gte=OuterRef("failing_since")
    )
    lasts = Q(failures__gte=FAILING) | Exists(given_up)
    for row in Channel.objects.filter(lasts, enabled=True).exclude(problem=""):
        yield Cause(
            kind=ItemKind.CHANNEL_FAILING,
            about=str(row.public_id),
            title=f"The chat channel {row.name} did not take its last messages",
            detail="Whoever reads it may miss what is new. Its page says why, and sends a test.",
            page=CHANNELS_PAGE,
            since=row.failing_since or now,
        )


FAILING_CHANNELS = Source("chan", failing_channels, frozenset({ItemKind.CHANNEL_FAILING}))


def _count(rows: QuerySet[M]) -> Coalesce:
    """Count these rows of a channel. A subquery, for which there is an index: a join would read all
    that has ended as well."""
    counted = (
        rows.filter(channel=OuterRef("pk"))
        .order_by()
        .values("channel")
        .annotate(count=Count("pk"))
        .values("count")
    )
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
