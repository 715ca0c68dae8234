"""Read channels for lists."""

from typing import TypeVar

from django.db.models import Count, IntegerField, Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.notifications.models import Channel, Message, Notice

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
