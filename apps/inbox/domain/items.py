"""Name what an inbox holds, who is called to it, and what works out the causes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from apps.accounts.domain.roles import Permission


class ItemKind(StrEnum):
    """Name why something is in an inbox."""

    PLAN_TO_REVIEW = "plan_to_review"
    PLAN_TO_EXECUTE = "plan_to_execute"
    PLAN_REJECTED = "plan_rejected"
    PLAN_STALE = "plan_stale"
    EXECUTION_STUCK = "execution_stuck"
    EXECUTION_PAUSED = "execution_paused"
    EXECUTION_HELD = "execution_held"
    EXECUTION_FAILED = "execution_failed"
    DATABASE_RESTORED = "database_restored"
    AGENT_SILENT = "agent_silent"
    MESSAGES_LOST = "messages_lost"
    BACKLOG = "backlog"
    CONNECTION_FAILING = "connection_failing"
    CHANGES_REFUSED = "changes_refused"
    WEBHOOK_FAILING = "webhook_failing"
    CHANNEL_FAILING = "channel_failing"
    SLO_BURNS_FAST = "slo_burns_fast"
    SLO_BURNS = "slo_burns"
    BUDGET_SPENT = "budget_spent"


_OPERATORS = frozenset({Permission.EXECUTE_PLAN})
_ADMINS = frozenset({Permission.ADMINISTER})
AUDIENCE: Mapping[ItemKind, frozenset[Permission]] = {
    ItemKind.PLAN_TO_REVIEW: frozenset({Permission.REVIEW_PLAN}),
    ItemKind.PLAN_TO_EXECUTE: _OPERATORS,
    ItemKind.PLAN_REJECTED: frozenset(),
    ItemKind.PLAN_STALE: frozenset(),
    ItemKind.EXECUTION_STUCK: _OPERATORS,
    ItemKind.EXECUTION_PAUSED: _OPERATORS,
    ItemKind.EXECUTION_HELD: _OPERATORS,
    ItemKind.EXECUTION_FAILED: _OPERATORS,
    ItemKind.DATABASE_RESTORED: _OPERATORS,
    ItemKind.AGENT_SILENT: _OPERATORS | _ADMINS,
    ItemKind.MESSAGES_LOST: _OPERATORS,
    ItemKind.BACKLOG: _OPERATORS,
    ItemKind.CONNECTION_FAILING: _ADMINS,
    ItemKind.CHANGES_REFUSED: _ADMINS,
    ItemKind.WEBHOOK_FAILING: _ADMINS,
    ItemKind.CHANNEL_FAILING: _ADMINS,
    ItemKind.SLO_BURNS_FAST: _OPERATORS,
    ItemKind.SLO_BURNS: _OPERATORS,
    ItemKind.BUDGET_SPENT: _OPERATORS,
}
"""Whoever has one of these permissions is called; without any, only the person it names is."""

COMES_BACK: Mapping[ItemKind, timedelta] = {
    ItemKind.AGENT_SILENT: timedelta(minutes=10),
    ItemKind.BACKLOG: timedelta(minutes=30),
    ItemKind.CONNECTION_FAILING: timedelta(hours=1),
    # A message that was refused is tried again after hours, and what failed meanwhile is no
    # refusal.
    ItemKind.CHANGES_REFUSED: timedelta(hours=24),
    ItemKind.WEBHOOK_FAILING: timedelta(hours=2),
    ItemKind.CHANNEL_FAILING: timedelta(hours=2),
    # While a budget burns fast, that is what people are called to.
    ItemKind.SLO_BURNS: timedelta(hours=6),
}
"""How soon a cause that comes back is the same item again: these come and go by chance."""

GREW_AFTER = timedelta(hours=1)
"""After such a pause, what happens again has got worse."""

NAMED = 3
"""Names in a sentence before the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that waits for people, or that they should know, as things stand now."""

    kind: ItemKind
    about: str
    """The id of what it is about: the same cause has the same kind and this."""
    title: str
    detail: str
    page: str
    """Where it is dealt with: a path below the address of the pages."""
    since: datetime
    """When it began, as well as is known when it is first seen."""
    waits: bool = False
    """Whether something goes on only once somebody decides."""
    system: int | None = None
    """The key of the system."""
    person: int | None = None
    """The key of a person who is called whatever their roles: it is about their plan."""
    members: tuple[str, ...] = ()
    """What it consists of, sorted: silent agents, flows and where they lost messages."""
    latest: datetime | None = None
    """When the newest of it happened, where it happens again and again."""


@dataclass(frozen=True, slots=True)
class Source:
    """What works out all causes of some kinds."""

    name: str
    """At most four letters, for its lock."""
    causes: Callable[[datetime], Iterable[Cause] | None]
    """None: it cannot be told now, and all stays as it is."""
    kinds: frozenset[ItemKind]


def named(names: Iterable[str]) -> str:
    """Return names as a sentence lists them: `a, b and c`, `a, b, c and 4 others`."""
    every = list(names)
    if len(every) <= NAMED + 1:
        *others, last = every or ["nothing"]
        return f"{', '.join(others)} and {last}" if others else last
    return f"{', '.join(every[:NAMED])} and {len(every) - NAMED} others"
