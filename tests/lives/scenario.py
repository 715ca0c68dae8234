"""What a seed means: a tree, flows, consumers, and plans that are valid when they are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.lives.actions import Change, Edge

LARGEST = 5
"""Brokers in the overlay."""


@dataclass(slots=True)
class ClassPlan:
    """One consumer class to be."""

    name: str
    broker: str
    flow: str
    consumers: int
    limit: int | None


@dataclass(slots=True)
class Scenario:
    """Everything random about a run but its faults and delays."""

    names: list[str]
    edges: set[Edge]
    spare: list[str]
    """Brokers outside the overlay, to be appended."""
    ingress: dict[str, str]
    """Flow -> broker."""
    classes: list[ClassPlan]
    plans: list[list[list[Change]]] = field(default_factory=list)
    loose: set[str] = field(default_factory=set)
    """Brokers that some plan appends or detaches."""
    shared: bool = False
    """Actions of one step share brokers: the order they end up in may not fit."""


def make_scenario(rng: Random, *, tree_share: float, append_share: float) -> Scenario:
    """A random system with one or two plans; `tree_share` of the actions change the tree, of
    those `append_share` append or detach a broker."""
    size = rng.randint(3, LARGEST)
    names = [f"b{i}" for i in range(size + rng.randint(0, 1))]
    members, spare = names[:size], names[size:]
    edges = {frozenset((b, rng.choice(members[:i]))) for i, b in enumerate(members) if i}
    ingress = {f"f{i}": rng.choice(members) for i in range(rng.randint(1, 3))}
    classes = []
    for flow in ingress:
        for broker in rng.sample(names, min(len(names), rng.randint(2, 4))):
            limited = broker in spare or rng.random() < 0.4
            classes.append(
                ClassPlan(
                    name=f"c{len(classes)}",
                    broker=broker,
                    flow=flow,
                    consumers=rng.randint(1, 3),
                    limit=rng.randint(0, 3) if limited else None,
                )
            )
    scenario = Scenario(names, edges, spare, ingress, classes)
    planner = _Planner(rng, scenario, tree_share, append_share)
    scenario.plans = [planner.plan() for _ in range(rng.choice((1, 1, 2)))]
    return scenario


class _Planner:
    """Writes plans for the state that the plans before lead to, if they succeed."""

    def __init__(
        self, rng: Random, scenario: Scenario, tree_share: float, append_share: float
    ) -> None:
        self.rng, self.scenario = rng, scenario
        self.tree_share, self.append_share = tree_share, append_share
        self.edges = set(scenario.edges)
        self.were: dict[tuple[str, str], int | None] = {}
        """Limits before their last change."""
        self.limits = {(c.broker, c.name): c.limit for c in scenario.classes}
        self.rates: dict[tuple[str, str], float | None] = {
            (broker, flow): None for flow, broker in scenario.ingress.items()
        }

    def plan(self) -> list[list[Change]]:
        return [step for _ in range(self.rng.randint(1, 4)) if (step := self._step())]

    def _step(self) -> list[Change]:
        step: list[Change] = []
        used: set[str] = set()
        shared = self.rng.random() < 0.2
        self.scenario.shared |= shared
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            change = self._change(set() if shared else used)
            if change is None:
                continue
            used |= set(change.peers.values()) or {change.key[0]}
            go, come = change.edges()
            self.edges = (self.edges - go) | come
            if change.kind == "set_population":
                self.limits[change.key] = None if change.after is None else int(change.after)
            elif change.kind == "set_flow_rate":
                self.rates[change.key] = change.after
            step.append(change)
        return step

    def _change(self, used: set[str]) -> Change | None:
        rng = self.rng
        if rng.random() < self.tree_share:
            if rng.random() >= self.append_share:
                return self._shift(used)
            return self._append(used) or self._detach(used)
        settings = [
            key for key, limit in self.limits.items() if limit is not None and key[0] not in used
        ]
        if rng.random() < 0.7 and settings:
            # There and back again is where old news is mistaken for new.
            back = [key for key in settings if key in self.were]
            key = rng.choice(back if back and rng.random() < 0.6 else settings)
            before = self.limits[key]
            others = [x for x in range(4) if x != before]
            after = self.were.get(key, before)
            if after == before or rng.random() < 0.3:
                after = rng.choice(others)
            self.were[key] = before
            return Change(kind="set_population", peers={}, key=key, before=before, after=after)
        rates = [key for key in self.rates if key[0] not in used]
        if not rates:
            return None
        key = rng.choice(rates)
        after_rate = rng.choice([x for x in (None, 5.0, 10.0) if x != self.rates[key]])
        return Change(
            kind="set_flow_rate", peers={}, key=key, before=self.rates[key], after=after_rate
        )

    def _neighbours(self, broker: str) -> list[str]:
        return sorted(b for edge in self.edges if broker in edge for b in edge - {broker})

    def _shift(self, used: set[str]) -> Change | None:
        triples = [
            (i, j, k)
            for j in self.scenario.names
            for i in self._neighbours(j)
            for k in self._neighbours(j)
            if i != k and not {i, j, k} & used
        ]
        if not triples:
            return None
        i, j, k = self.rng.choice(triples)
        return Change(kind="shift_link", peers={"i": i, "j": j, "k": k})

    def _append(self, used: set[str]) -> Change | None:
        outside = [b for b in self.scenario.names if not self._neighbours(b) and b not in used]
        inside = [b for b in self.scenario.names if self._neighbours(b) and b not in used]
        if not outside or not inside:
            return None
        i, k = self.rng.choice(outside), self.rng.choice(inside)
        self.scenario.loose.add(i)
        return Change(kind="append_broker", peers={"i": i, "k": k})

    def _detach(self, used: set[str]) -> Change | None:
        sources = set(self.scenario.ingress.values())
        leaves = [
            b
            for b in self.scenario.names
            if len(self._neighbours(b)) == 1
            and b not in sources
            and not {b, *self._neighbours(b)} & used
        ]
        if not leaves or len(self.edges) < 3:
            return None
        i = self.rng.choice(leaves)
        self.scenario.loose.add(i)
        return Change(kind="detach_broker", peers={"i": i, "j": self._neighbours(i)[0]})
