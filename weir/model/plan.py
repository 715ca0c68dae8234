"""A plan: ordered steps of actions that lead from what is in force to what was proposed.

An action says what it changes (`target`), from what (`before`) to what (`after`) and what that
is expected to do (`effect`, a sentence). The actions of one step may run together; the next step
begins when all of them are done. What a kind of action means is said in `weir.actions`. Build
plans with `weir.codec.plan_from_dict`, which checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Value = Mapping[str, Any]
"""What a setting holds, numbers, names and lists of names: `{rate_per_s, burst}`, `{limit}`,
`{delivery, broker}`, `{flow}`, `{publishers}`, `{stream}` or `{group}`. Which members a kind has,
and of what type they are, its `validate` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change, at named brokers or of what Weir keeps itself; `before` and `after` are None
    where nothing is enforced."""

    kind: str
    target: Mapping[str, str]
    before: Value | None = None
    after: Value | None = None
    effect: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Hold actions that may run together."""

    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A quantity that the plan assumes to lie between `low` and `high` while it is in force."""

    name: str
    unit: str
    low: float
    high: float
    measured: float | None = None
    """What was seen when the plan was made; None: taken from the model, not measured."""


LONGEST_PAUSE = "longest pause"
"""A promise about the way and not about where it leads: how long one link that moves is expected to
hold what crosses it, seconds. The inverse holds it as long."""

LINK_TRAFFIC = "traffic on links"
"""A promise about the messages per second that all links together carry."""

FILTERING = "Cost of unwanted traffic"
"""A promise about what receivers spend on messages that they did not want, work/s."""

TAIL_DELAY = "99th percentile of {topic}, wait and processing"
"""A promise about the delay of a topic whose bucket is divided among brokers, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A quantity before the plan and what it is expected to be after; None: not known."""

    name: str
    unit: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A change that was proposed and is not made, with the reason."""

    kind: str
    """The kind of action that would have made it."""
    target: Mapping[str, str]
    before: Value | None
    wanted: Value | None
    reason: str
    """`band`, `reversal`, `dwell`, `charge`, `room`, `no_need` (`weir.enactment.Reason`)."""
    because: str
    """A sentence with numbers and units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What proposed the plan: an allocation, another plan to undo, a person."""

    kind: str
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a person reads, approves and sees carried out; its hash binds the approval to it."""

    kind: str
    """`allocation` and later kinds of proposal; policies speak of it."""
    system: str
    """Public id of the system."""
    model_version: int
    """Version of the system's model that the plan was computed on."""
    snapshot_hash: str
    """Content hash of the run's snapshot; empty where no run proposed the plan."""
    source: Source
    title: str
    why: tuple[str, ...] = ()
    steps: tuple[Step, ...]
    envelope: tuple[Bound, ...] = field(default=())
    promise: tuple[Promise, ...] = field(default=())
    left_out: tuple[LeftOut, ...] = field(default=())
    pace_s: float = 0.0
    """Least pause between two steps, seconds; a policy may ask for a longer one."""
