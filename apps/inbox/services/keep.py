"""Keep the items of all inboxes as things stand: one begins with its cause, and ends with it.

It is worked out once for everybody, here, and not by whoever looks: a cause has a beginning that
stays, and messages about it can be sent when it begins.
"""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial

from django.apps import apps
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.common.events import publish
from apps.common.locks import lock_until_commit
from apps.inbox.domain.items import COMES_BACK, GREW_AFTER, Cause, ItemKind, Source
from apps.inbox.models import KEPT, Item
from apps.inbox.selectors.objectives import of_objectives
from apps.inbox.selectors.plans import of_executions, of_plans
from apps.inbox.selectors.surroundings import (
    Hearing,
    of_agents,
    of_backlogs,
    of_connections,
    of_losses,
    of_restored,
    of_webhooks,
)

logger = logging.getLogger(__name__)


hearing = Hearing()
SOURCES = (
    Source(
        "plan",
        of_plans,
        frozenset(
            {
                ItemKind.PLAN_TO_REVIEW,
                ItemKind.PLAN_TO_EXECUTE,
                ItemKind.PLAN_REJECTED,
                ItemKind.PLAN_STALE,
            }
        ),
    ),
    Source(
        "exec",
        of_executions,
        frozenset(
            {
                ItemKind.EXECUTION_STUCK,
                ItemKind.EXECUTION_PAUSED,
                ItemKind.EXECUTION_HELD,
                ItemKind.EXECUTION_FAILED,
            }
        ),
    ),
    Source("back", of_restored, frozenset({ItemKind.DATABASE_RESTORED})),
    Source("agnt", partial(of_agents, hearing=hearing), frozenset({ItemKind.AGENT_SILENT})),
    Source("lost", of_losses, frozenset({ItemKind.MESSAGES_LOST})),
    Source(
        "conn",
        of_connections,
        frozenset({ItemKind.CONNECTION_FAILING, ItemKind.CHANGES_REFUSED}),
    ),
    Source("hook", of_webhooks, frozenset({ItemKind.WEBHOOK_FAILING})),
    Source(
        "slos",
        of_objectives,
        frozenset({ItemKind.SLO_BURNS_FAST, ItemKind.SLO_BURNS, ItemKind.BUDGET_SPENT}),
    ),
)
BACKLOGS = frozenset({ItemKind.BACKLOG})
SHOWN = ("title", "detail", "page", "waits", "members", "person_id")
"""What of an item people see change."""


def items_keep() -> int:
    """Run one tick of the coordinator: begin, change and end items of every kind but backlogs.

    Returns how many began, changed or ended. Raises OperationalError or InterfaceError after all of
    them, where one met it.
    """
    return _keep(sources())


def sources() -> Iterator[Source]:
    """Yield what works out causes, but for backlogs: of apps below this one, then of those above,
    which name it.

    An `AppConfig` does so as `calls_people = "apps.notifications.selectors.FAILING_CHANNELS"`.
    """
    yield from SOURCES
    for config in apps.get_app_configs():
        path = getattr(config, "calls_people", "")
        if path:
            yield import_string(path)


def backlog_items_keep() -> int:
    """Do the same for backlogs, which cost more to work out; and drop what has been over for
    long."""
    now = timezone.now()
    Item.objects.filter(ended_at__lt=now - KEPT).delete()
    topics = Item.objects.filter(kind=ItemKind.BACKLOG, ended_at=None).values_list("about")
    known = frozenset(topic for (topic,) in topics)
    return _keep([Source("full", partial(of_backlogs, known=known), BACKLOGS)])


def _keep(chosen: Iterable[Source]) -> int:
    """Bring items to what each source says. What cannot be worked out keeps nothing else from it,
    and stays as it was."""
    count = 0
    away: Exception | None = None
    for source in chosen:
        try:
            with transaction.atomic():
                # One process of many keeps the items of a source.
                is_ours = lock_until_commit(f"item{source.name}")
                count += _settle(source) if is_ours else 0
        except (OperationalError, InterfaceError) as error:
            if not connection.is_usable():
                raise
            away = error
        except Exception:
            logger.exception("cannot work out %s", ", ".join(sorted(source.kinds)))
    if away is not None:
        raise away
    return count


def _settle(source: Source) -> int:
    now = timezone.now()
    worked_out = source.causes(now)
    if worked_out is None:
        return 0
    causes = {(cause.kind.value, cause.about): cause for cause in worked_out}
    rows = {
        (row.kind, row.about): row
        for row in Item.objects.filter(kind__in=source.kinds, ended_at=None)
    }
    ended = [row for key, row in rows.items() if key not in causes]
    for row in ended:
        row.ended_at = now
    new = [cause for key, cause in causes.items() if key not in rows]
    back = _come_back(new, now)
    for key, row in back.items():
        row.ended_at = None
        rows[key] = row
    begun = [_begun(cause, now) for cause in new if (cause.kind.value, cause.about) not in back]
    changed = [row for key, row in rows.items() if key in causes and _follow(row, causes[key], now)]
    touched = {row.pk: row for row in (*ended, *back.values(), *changed)}
    Item.objects.bulk_update(
        touched.values(), [*SHOWN, "waits_since", "grew_at", "latest_at", "ended_at"]
    )
    Item.objects.bulk_create(begun)
    count = len(touched) + len(begun)
    if count:
        publish("inbox")
    return count


def _come_back(causes: list[Cause], now: datetime) -> dict[tuple[str, str], Item]:
    """Return the items that ended not long ago and whose causes are there again."""
    known = Q(pk__in=[])
    for cause in causes:
        if cause.kind in COMES_BACK:
            since = now - COMES_BACK[cause.kind]
            known |= Q(kind=cause.kind, about=cause.about, ended_at__gt=since)
    if not known:
        return {}
    latest = Item.objects.filter(known).values("kind", "about").annotate(latest=Max("pk"))
    rows = Item.objects.in_bulk([row["latest"] for row in latest.order_by()])
    return {(row.kind, row.about): row for row in rows.values()}


def _begun(cause: Cause, now: datetime) -> Item:
    return Item(
        kind=cause.kind,
        about=cause.about,
        since=cause.since,
        waits_since=cause.since if cause.waits else None,
        latest_at=cause.latest,
        system_id=cause.system,
        **_shown(cause),
    )


def _follow(row: Item, cause: Cause, now: datetime) -> bool:
    """Change an item to what its cause is now; return whether anything that counts differs. When it
    began stays."""
    values = _shown(cause)
    again = cause.latest is not None and (
        row.latest_at is None or cause.latest - row.latest_at > GREW_AFTER
    )
    differs = any(getattr(row, name) != value for name, value in values.items())
    # Where it goes on happening, noting that now and then is enough.
    goes_on = (
        cause.latest is not None
        and row.latest_at is not None
        and cause.latest - row.latest_at > GREW_AFTER / 4
    )
    if not (differs or again or goes_on):
        return False
    if again or set(cause.members) - set(row.members):
        row.grew_at = now
    if cause.waits and row.waits_since is None:
        row.waits_since = now
    row.latest_at = cause.latest
    for name, value in values.items():
        setattr(row, name, value)
    return True


def _shown(cause: Cause) -> dict[str, object]:
    return {
        "title": cause.title[:300],
        "detail": cause.detail,
        "page": cause.page,
        "waits": cause.waits,
        "members": list(cause.members),
        "person_id": cause.person,
    }
