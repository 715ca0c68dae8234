"""Note who is to be told of what: of each item that they want to hear of once, and again if it
begins to wait for somebody or gets worse."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Max, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.common.locks import lock_until_commit
from apps.inbox.models import Item
from apps.notifications.domain.timing import due_at
from apps.notifications.models import Notice, Reason
from apps.notifications.services.recipients import Recipient, recipients

SETTLES = timedelta(seconds=20)
"""How long an item has stood before anybody is told: many are over by then."""

WORSE_AGAIN = timedelta(hours=1)
"""How long somebody who was told is not told that it got worse since."""


def notices_note() -> int:
    """Run one tick of the coordinator: note what is for people and channels and they were not told
    of.

    Returns how many notices were written. Whoever gets an address, a role or a mail server is told
    of what stands then; so is a channel that is added or enabled.
    """
    # A tick is the whole of its transaction: there is nothing to go back to.
    with transaction.atomic(savepoint=False):
        return _note(timezone.now()) if lock_until_commit("notices") else 0


def _note(now: datetime) -> int:
    items = list(Item.objects.filter(ended_at=None, created_at__lte=now - SETTLES).order_by("id"))
    if not items:
        return 0
    noted = _noted(items, now)
    notices = [
        Notice(**one.named, item=item, reason=reason, due_at=due_at(one.rhythm, now))
        for one in recipients()
        for item, reason in _news(one, items, noted[one.column, one.key], now)
    ]
    Notice.objects.bulk_create(notices, ignore_conflicts=True)
    return len(notices)


def _noted(
    items: Collection[Item], now: datetime
) -> Mapping[tuple[str, int], Mapping[int, datetime]]:
    """Return by recipient and item when it was last written into a message; now, where it is still
    to be. What an address of a person did not take is unknown at another one."""
    elsewhere = (
        Q(person__isnull=False)
        & ~Q(message__given_up_at=None)
        & ~Q(message__address=F("person__email"))
    )
    rows = (
        Notice.objects.filter(item__in=items, over_at=None)
        .exclude(elsewhere)
        .values_list("person_id", "channel_id", "item_id")
        .annotate(at=Max(Coalesce("message__created_at", Value(now))))
    )
    noted: dict[tuple[str, int], dict[int, datetime]] = defaultdict(dict)
    for person, channel, item, at in rows:
        who = ("person", person) if channel is None else ("channel", channel)
        noted[who][item] = at
    return noted


def _news(
    recipient: Recipient, items: Sequence[Item], noted: Mapping[int, datetime], now: datetime
) -> Iterator[tuple[Item, Reason]]:
    """Yield what somebody is to be told now."""
    candidates = [
        (item, reason)
        for item in items
        if recipient.hears_of(item)
        if (reason := _reason(item, noted.get(item.pk), now)) is not None
    ]
    confirmed = recipient.confirmed([item for item, _ in candidates], now)
    yield from ((item, reason) for item, reason in candidates if item.pk in confirmed)


def _reason(item: Item, noted_at: datetime | None, now: datetime) -> Reason | None:
    """Return why somebody is told of an item, who was noted at that time; None: they need not
    be told."""
    if noted_at is None:
        return Reason.STANDS
    settled = now - SETTLES
    if item.waits and item.waits_since is not None and noted_at < item.waits_since <= settled:
        return Reason.WAITS
    grew = item.grew_at is not None and noted_at < item.grew_at <= settled
    if grew and now - noted_at >= WORSE_AGAIN:
        return Reason.WORSE
    return None
