"""Note who is to be told of what: of each item in their inbox once, and again if it begins to wait
for somebody or gets worse."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Max, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.inbox.domain.items import AUDIENCE, ItemKind
from apps.inbox.models import Item
from apps.inbox.selectors import inbox_of
from apps.notifications.domain.timing import due_at
from apps.notifications.models import Notice, NotificationSettings, Reason

SETTLES = timedelta(seconds=20)
"""How long an item has stood before anybody is told: many are over by then."""

WORSE_AGAIN = timedelta(hours=1)
"""How long somebody who was told is not told that it got worse since."""

_LOCK = int.from_bytes(b"notices")


def notices_note() -> int:
    """Run one tick of the coordinator: note what people are called to and were not told of.

    Returns how many notices were written. Whoever gets an address, a role or a mail server is told
    of what stands then.
    """
    if not settings.EMAIL_HOST:
        return 0
    with transaction.atomic():
        return _note(timezone.now()) if _is_ours() else 0


def settings_of(person: User) -> NotificationSettings:
    """Return somebody's settings, or the defaults, not stored. `select_related` them."""
    row: NotificationSettings | None = getattr(person, "notification_settings", None)
    return row or NotificationSettings(person=person, version=0)


def _is_ours() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])


def _note(now: datetime) -> int:
    items = list(Item.objects.filter(ended_at=None, created_at__lte=now - SETTLES).order_by("id"))
    if not items:
        return 0
    noted = _noted(items, now)
    notices = [
        Notice(person=person, item=item, reason=reason, due_at=due_at(chosen.rhythm, now))
        for person, chosen in _people()
        for item, reason in _news(person, chosen, items, noted[person.pk], now)
    ]
    Notice.objects.bulk_create(notices, ignore_conflicts=True)
    return len(notices)


def _noted(items: Collection[Item], now: datetime) -> Mapping[int, Mapping[int, datetime]]:
    """Return by person and item when it was last written into a message; now, where it is still to
    be. What an address did not take is unknown at another one."""
    elsewhere = ~Q(message__given_up_at=None) & ~Q(message__address=F("person__email"))
    rows = (
        Notice.objects.filter(item__in=items, over_at=None)
        .exclude(elsewhere)
        .values_list("person_id", "item_id")
        .annotate(at=Max(Coalesce("message__created_at", Value(now))))
    )
    noted: dict[int, dict[int, datetime]] = defaultdict(dict)
    for person, item, at in rows:
        noted[person][item] = at
    return noted


def _people() -> Iterator[tuple[User, NotificationSettings]]:
    rows = (
        User.objects.filter(is_active=True, automatic=False)
        .exclude(email="")
        .select_related("notification_settings")
        .order_by("id")
    )
    for person in rows:
        chosen = settings_of(person)
        if chosen.by_email:
            yield person, chosen


def _news(
    person: User,
    chosen: NotificationSettings,
    items: Collection[Item],
    noted: Mapping[int, datetime],
    now: datetime,
) -> Iterator[tuple[Item, Reason]]:
    """Yield what the person is to be told now."""
    candidates = [
        (item, reason)
        for item in items
        if item.kind in chosen.kinds and _calls(item, person)
        if (reason := _reason(item, noted.get(item.pk), now)) is not None
    ]
    if any(item.kind == ItemKind.PLAN_TO_REVIEW for item, _ in candidates):
        # Who may still judge a plan is for the inbox to say.
        mine = {item.pk for item in inbox_of(person, person.permissions, now)}
        candidates = [(item, reason) for item, reason in candidates if item.pk in mine]
    yield from candidates


def _calls(item: Item, person: User) -> bool:
    by_role = AUDIENCE[ItemKind(item.kind)] & person.permissions
    own = item.person_id == person.pk and Permission.PROPOSE_PLAN in person.permissions
    return bool(by_role) or own


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
