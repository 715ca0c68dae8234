"""Work out what people should know of agents, messages, and the systems that Weir talks to."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

from django.db.models import Q

from apps.common.formatting import counted
from apps.inbox.domain.items import Cause, ItemKind, named
from apps.integrations.models import Change, Connection, Message
from apps.systems.models import System
from apps.telemetry.domain.backlog import Growth
from apps.telemetry.models import Agent, Loss
from apps.telemetry.selectors import systems_ahead
from apps.telemetry.selectors.backlog import backlogs
from apps.telemetry.services.losses import REASONS
from apps.webhooks.domain.retries import FAILING
from apps.webhooks.models import Webhook
from apps.webhooks.services.send import OTHER_KEY
from weir.lifecycle.changes import ChangeState

LOST_WITHIN = timedelta(hours=24)
"""How long a loss is shown after its last message."""

SILENT_FOR = timedelta(seconds=60)
"""How long ago a lease ended before people are called: an agent that is restarted is no news."""

AWAY_AFTER = timedelta(seconds=30)
"""After such a pause between two looks, this process or Postgres was away."""

SETTLES = timedelta(seconds=30)
"""How long agents may take to come back once Weir hears again."""

ALL_SILENT_FOR = timedelta(minutes=5)
"""How long no agent at all is heard before they, and not Weir, count as silent."""

BY_DESIGN = ("ingress_full", "unheard")
"""Reasons for which best-effort messages are discarded where all is as it should be: a gate lets no
more pass, or nobody is known to want it yet."""

LOSSES_READ = 10_000
"""Losses of the last day that are looked at, the latest first."""


class Hearing:
    """What this process knows of whether Weir could hear agents: nobody renews a lease while the
    web process or Postgres is away, and no agent is silent then."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self.awake_since: datetime | None = None
        """Since when this process has looked all the time."""
        self.since: datetime | None = None
        """Since when some agent has been heard all the time."""

    def look(self, now: datetime, *, hears: bool) -> None:
        """Note that it is looked now, and whether any agent holds a lease."""
        if self._last is None or now - self._last > AWAY_AFTER:
            self.awake_since = self.since = None
        self._last = now
        self.awake_since = self.awake_since or now
        self.since = (self.since or now) if hears else None

    def silent_before(self, now: datetime) -> datetime | None:
        """Return before when a lease must have ended for its agent to be silent; None: it cannot be
        told yet. Where no agent is heard at all, Weir may be deaf, and is for longer."""
        if self.since is not None and now - self.since >= SILENT_FOR + SETTLES:
            return now - SILENT_FOR
        if self.awake_since is not None and now - self.awake_since >= ALL_SILENT_FOR:
            return now - ALL_SILENT_FOR
        return None


def of_restored(now: datetime) -> Iterator[Cause]:
    """Yield the systems whose database was restored."""
    for system in System.objects.filter(pk__in=systems_ahead()).order_by("id"):
        yield _of_system(
            ItemKind.DATABASE_RESTORED,
            system,
            f"{system.name} waits for a decision about the restored database",
            "Agents have obeyed documents that this database does not know. None is sent until a "
            "newer backup is restored, or the state is adopted.",
            now,
            waits=True,
            page=f"/systems/{system.public_id}",
        )


def of_agents(now: datetime, hearing: Hearing) -> Iterator[Cause] | None:
    """Return the systems with agents that have not been heard for a while; None while that cannot
    be told."""
    enrolled = Agent.objects.filter(revoked_at=None, incarnation__gt=0)
    hearing.look(now, hears=enrolled.filter(lease_until__gt=now).exists())
    before = hearing.silent_before(now)
    if before is None:
        return None
    # One with another credential that has never come back has no lease.
    left = Q(lease_until=None, enrolled_at__lte=now - ALL_SILENT_FOR)
    rows = enrolled.filter(Q(lease_until__lte=before) | left).values_list(
        "system_id", "broker__name", "lease_until", "enrolled_at"
    )
    by_system: dict[int, dict[str, datetime]] = defaultdict(dict)
    for key, name, lease_until, enrolled_at in rows:
        by_system[key][name] = lease_until or enrolled_at
    return _silent(by_system)


def _silent(by_system: Mapping[int, Mapping[str, datetime]]) -> Iterator[Cause]:
    for system in System.objects.filter(pk__in=by_system).order_by("id"):
        ended = by_system[system.pk]
        names = sorted(ended)
        one = len(names) == 1
        yield _of_system(
            ItemKind.AGENT_SILENT,
            system,
            f"{counted(len(names), 'agent', 'agents')} of {system.name} "
            f"{'is' if one else 'are'} silent",
            f"{named(names)}: {'its broker goes' if one else 'their brokers go'} on as before, "
            "and nothing can be changed there.",
            min(ended.values()),
            members=tuple(names),
        )


def of_losses(now: datetime) -> Iterator[Cause]:
    """Yield the systems that lost messages lately."""
    rows = (
        Loss.objects.filter(last_at__gt=now - LOST_WITHIN)
        .exclude(reason__in=BY_DESIGN)
        .order_by("-last_at")
        .values_list("broker__system_id", "broker__name", "flow", "reason", "last_at")
    )
    by_system: dict[int, list[tuple[str, str, str, datetime]]] = defaultdict(list)
    for key, broker, flow, reason, last_at in rows[:LOSSES_READ]:
        by_system[key].append((broker, flow or "an unknown flow", reason, last_at))
    for system in System.objects.filter(pk__in=by_system).order_by("id"):
        lost = by_system[system.pk]
        reasons = sorted({REASONS.get(reason, reason) for _, _, reason, _ in lost})
        yield _of_system(
            ItemKind.MESSAGES_LOST,
            system,
            f"{system.name} lost messages",
            f"Of {named(sorted({flow for _, flow, _, _ in lost}))} at "
            f"{named(sorted({broker for broker, _, _, _ in lost}))}: {named(reasons)}.",
            lost[0][3],
            members=tuple(sorted({f"{flow} at {broker}" for broker, flow, _, _ in lost})),
            latest=lost[0][3],
        )


def of_backlogs(now: datetime, known: Collection[str]) -> Iterator[Cause]:
    """Yield reliable topics whose waiting messages reach a limit soon. A topic that is `known`, by
    its id, stays until its backlog is known to grow no more."""
    waiting = backlogs()
    systems = {row.pk: row for row in System.objects.filter(pk__in=waiting)}
    for key, rows in waiting.items():
        for row in rows:
            stays = row.growth is not Growth.STEADY and row.topic_id in known
            if key in systems and (row.growth is Growth.ALARM or stays):
                yield _of_system(
                    ItemKind.BACKLOG,
                    systems[key],
                    f"{row.topic} fills up at {row.broker}",
                    row.sentence,
                    now,
                    about=row.topic_id,
                )


def of_connections(now: datetime) -> Iterator[Cause]:
    """Yield connections that do not answer, and those that refuse what Weir sends, or never manage
    to take it."""
    troubled = _troubled()
    for row in Connection.objects.filter(enabled=True).order_by("id"):
        page = f"/connections/{row.public_id}"
        changes = troubled.get(row.pk, {})
        if row.problem and row.failures >= FAILING:
            yield _elsewhere(
                ItemKind.CONNECTION_FAILING,
                str(row.public_id),
                f"{row.name} does not answer",
                row.problem,
                page,
                now,
            )
        elif changes:
            need = "needs" if len(changes) == 1 else "need"
            yield _elsewhere(
                ItemKind.CHANGES_REFUSED,
                str(row.public_id),
                f"{counted(len(changes), 'change', 'changes')} at {row.name} {need} a correction",
                changes[min(changes)],
                page,
                now,
            )


def _troubled() -> Mapping[int, Mapping[int, str]]:
    """Return by connection the changes that cannot be sent or read, with the reason."""
    unsent = Message.objects.filter(
        Q(refused=True) | Q(attempts__gte=FAILING), sent_at=None, change__connection__enabled=True
    ).exclude(problem="")
    unread = Change.objects.filter(look_failures__gte=FAILING, connection__enabled=True).exclude(
        state=ChangeState.CLOSED
    )
    troubled: dict[int, dict[int, str]] = defaultdict(dict)
    for connection, change, problem in unread.values_list("connection_id", "id", "problem"):
        troubled[connection][change] = problem
    for connection, change, problem in unsent.order_by("-id").values_list(
        "change__connection_id", "change_id", "problem"
    ):
        troubled[connection][change] = problem
    return troubled


def of_webhooks(now: datetime) -> Iterator[Cause]:
    """Yield webhooks whose receivers take nothing, and those that were switched off for it."""
    failing = Q(enabled=True, failures__gte=FAILING) | Q(enabled=True, problem=OTHER_KEY)
    off = Q(enabled=False, failing_since__isnull=False)
    for row in Webhook.objects.filter(failing | off).order_by("id"):
        yield _elsewhere(
            ItemKind.WEBHOOK_FAILING,
            str(row.public_id),
            f"{row.name} does not take events" if row.enabled else f"{row.name} is off",
            row.disabled_because or row.problem,
            f"/webhooks/{row.public_id}",
            row.failing_since or now,
        )


def _of_system(
    kind: ItemKind,
    system: System,
    heading: str,
    detail: str,
    since: datetime,
    *,
    waits: bool = False,
    about: str = "",
    page: str = "",
    members: tuple[str, ...] = (),
    latest: datetime | None = None,
) -> Cause:
    return Cause(
        kind=kind,
        about=about or str(system.public_id),
        title=heading,
        detail=detail,
        page=page or f"/systems/{system.public_id}/telemetry",
        since=since,
        waits=waits,
        system=system.pk,
        members=members,
        latest=latest,
    )


def _elsewhere(
    kind: ItemKind, about: str, heading: str, detail: str, page: str, since: datetime
) -> Cause:
    return Cause(kind=kind, about=about, title=heading, detail=detail, page=page, since=since)
