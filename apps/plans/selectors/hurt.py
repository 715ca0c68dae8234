"""Tell before a plan is carried out how many connected consumers it disconnects, by class.

What is measured now is the "before": a limit in force says how many may be connected, not how many
are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from apps.common.formatting import counted
from apps.executions.selectors.modelled import CLASS
from apps.plans.models import Plan
from apps.plans.selectors.intermediate import LIMIT, RATE
from apps.telemetry.models import Sample
from apps.telemetry.selectors import latest_samples
from apps.telemetry.selectors.measured import measured
from weir import actions
from weir.actions import InForce, SettingKey, target_of
from weir.model.plan import Action, Value

Place = tuple[str, str]
"""A class and its broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassHurt:
    """Describe one class that the plan touches: who is connected now, and who may be afterwards."""

    name: str
    broker: str
    connected: int | None
    """Consumers that are connected now; None: nobody measures."""
    waiting: int | None
    """Consumers that wait for a place; None: nobody measures."""
    served_before: bool
    limit_before: int | None
    """None: where the class is served, nothing limits it."""
    served_after: bool
    limit_after: int | None
    least: float
    """How many the plan allows at least at any time, until its last step."""

    @property
    def disconnected(self) -> int | None:
        """Return how many have to leave; None: it cannot be told."""
        if math.isinf(self.least):
            return 0
        return None if self.connected is None else max(0, self.connected - int(self.least))

    @property
    def let_in(self) -> int | None:
        """Return how many of those that wait find a place; None: it cannot be told."""
        if not self.served_after:
            return 0
        if self.connected is None or self.waiting is None:
            return None
        if self.limit_after is None:
            return self.waiting
        return max(0, min(self.waiting, self.limit_after - self.connected))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurt:
    """Hold who loses a connection through a plan."""

    connected: int | None
    """Consumers of all classes of the system that are connected now; None: nobody measures."""
    classes: list[ClassHurt] = field(default_factory=list)
    """Every class that the plan touches, the one that loses most first."""

    @property
    def disconnected(self) -> int:
        """Return how many have to leave, of the classes where that can be told."""
        return sum(row.disconnected or 0 for row in self.classes)

    @property
    def unmeasured(self) -> list[str]:
        """Return the classes of which it cannot be told how many have to leave."""
        return [f"{row.name} at {row.broker}" for row in self.classes if row.disconnected is None]

    @property
    def sentence(self) -> str:
        """Return the first sentence of the plan: how many of how many lose their connection."""
        unknown = ""
        if self.unmeasured:
            listed = ", ".join(self.unmeasured[:3])
            if len(self.unmeasured) > 3:
                listed += f" and {len(self.unmeasured) - 3} more"
            unknown = f"Nobody measures now how many consumers of {listed} are connected."
        if self.disconnected and self.connected is not None:
            all_of = counted(self.connected, "connected consumer")
            said = f"{self.disconnected:,} of {all_of} will be disconnected."
        elif unknown:
            said = "Whether consumers will be disconnected cannot be told."
        elif self.connected:
            said = f"None of {counted(self.connected, 'connected consumer')} will be disconnected."
        elif self.connected == 0:
            said = "No consumer is connected now, so none will be disconnected."
        else:
            said = "The plan disconnects no consumer."
        return f"{said} {unknown}".rstrip()


def hurt_of(plan: Plan, found: InForce) -> Hurt:
    """Return whom the plan disconnects, carried out from what is in force and measured now."""
    samples = latest_samples(plan.system)
    seen = _measured(samples)
    touched = _touched(plan, found)
    rows = [_row(place, states, seen.get(place)) for place, states in touched.items()]
    admitted = [row["admitted"] for row in seen.values() if "admitted" in row]
    return Hurt(
        connected=sum(admitted) if samples else None,
        classes=sorted(rows, key=_worst_first),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Hold what is asked about one class at one moment."""

    served: bool
    limit: int | None

    @property
    def most(self) -> float:
        """Return how many consumers may be connected."""
        if not self.served:
            return 0
        return math.inf if self.limit is None else self.limit


def _row(place: Place, states: list[_State], seen: Mapping[str, int] | None) -> ClassHurt:
    before, after = states[0], states[-1]
    seen = seen or {}
    # Nobody is connected as a member of a class that is not served.
    nobody = None if before.served else 0
    return ClassHurt(
        name=place[0],
        broker=place[1],
        connected=seen.get("admitted", nobody),
        waiting=seen.get("waiting", nobody),
        served_before=before.served,
        limit_before=before.limit,
        served_after=after.served,
        limit_after=after.limit,
        least=min(state.most for state in states[1:]),
    )


def _worst_first(row: ClassHurt) -> tuple[int, int, float, str, str]:
    lost = row.disconnected
    # What cannot be told may be bad: it stands before classes that lose nobody.
    order = 0 if lost else 1 if lost is None else 2
    share = (lost or 0) / row.connected if row.connected else 0.0
    return order, -(lost or 0), -share, row.name, row.broker


def limited_now(plan: Plan) -> dict[SettingKey, float]:
    """Return what is measured now of what each gate and limit of the plan is about: messages a
    second that pass, consumers that are connected."""
    settings = [
        (actions.setting_key(a), a.target)
        for step in plan.content.steps
        for a in step.actions
        if a.kind in (RATE, LIMIT)
    ]
    if not settings:
        return {}
    connected, passed = _measured(latest_samples(plan.system)), measured(plan.system).passed
    now: dict[SettingKey, float | None] = {
        key: passed.get(target["flow"])
        if key[0] == RATE
        else connected.get(_place(target), {}).get("admitted")
        for key, target in settings
    }
    return {key: value for key, value in now.items() if value is not None}


def _measured(samples: Iterable[Sample]) -> dict[Place, dict[str, int]]:
    return {
        (name, sample.broker.name): {
            member: int(row[member]) for member in ("admitted", "waiting") if member in row
        }
        for sample in samples
        for name, row in sample.payload.get("classes", {}).items()
    }


def _touched(plan: Plan, found: InForce) -> dict[Place, list[_State]]:
    """Return what is asked about each touched class: before the plan, and after each action."""
    every = [a for step in plan.content.steps for a in step.actions if a.kind in (CLASS, LIMIT)]
    places = {_place(action.target) for action in every}
    served, limits = set(), dict[Place, int]()
    for place, kind, value in _settings(found.settings):
        if kind == CLASS:
            served.add(place)
        else:
            limits[place] = int(value["limit"])
    states = {
        place: [_State(served=_served(place, served, every), limit=limits.get(place))]
        for place in places
    }
    for action in every:
        last = states[_place(action.target)][-1]
        states[_place(action.target)].append(_next(last, action))
    return states


def _next(last: _State, action: Action) -> _State:
    if action.kind == CLASS:
        return _State(served=action.after is not None, limit=last.limit)
    limit = None if action.after is None else int(action.after["limit"])
    return _State(served=last.served, limit=limit)


def _served(place: Place, served: set[Place], every: list[Action]) -> bool:
    """Return whether the class is served before the plan: it is in force, or the plan takes it for
    granted."""
    begun = any(a.kind == CLASS and _place(a.target) == place for a in every)
    return place in served or not begun


def _settings(settings: Mapping[SettingKey, Value]) -> Iterator[tuple[Place, str, Value]]:
    for key, value in settings.items():
        if key[0] in (CLASS, LIMIT):
            yield _place(target_of(key)), key[0], value


def _place(target: Mapping[str, str]) -> Place:
    return target["class"], target["broker"]
