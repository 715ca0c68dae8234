"""Compare an allocation with what is in force: everything a plan is made of, as plain values.

Targets, flows, classes and brokers are names; rates are msg/s. This module does no input or output;
`apps.allocations.selectors.proposed` reads the values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from apps.allocations.domain.worth import Functions, worth
from apps.plans.domain.structure import Difference
from weir.actions import SettingKey, target_key
from weir.enactment import Past
from weir.model import Problem, loads
from weir.model.plan import Value

RATE, LIMIT = "set_flow_rate", "set_population"

LEAST_BURST = 2.0
"""The smallest default burst: one message passes while the next one's token arrives. With less, a
gate that wakes up late would lose part of the rate."""

BURST_S = 0.1
"""A flow without a token bucket of its own may send at once what its rate gives in this time."""

SMALLEST_RATE = 1e-9
"""Lower rates count as 0: they are below one message in thirty years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Describe a value to enforce."""

    kind: str
    target: Mapping[str, str]
    value: Value

    @property
    def key(self) -> SettingKey:
        """Return the key of the setting."""
        return self.kind, target_key(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scarce:
    """Describe a resource with its load and price in the allocation."""

    name: str
    """Its name, such as `cpu of rot-1` or `link rot-1 ham-1`."""
    load: float
    capacity: float
    price: float
    """The utility of one more unit of capacity."""

    @property
    def share(self) -> float:
        """Return the load divided by the capacity."""
        if self.capacity > 0:
            return self.load / self.capacity
        return math.inf if self.load > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Hold what an allocation proposes, and what is in force and measured now."""

    name: str
    problem: Problem
    rates: Mapping[str, float]
    populations: Mapping[str, int]
    utility: float
    resources: tuple[Scarce, ...]
    sources: Mapping[str, str | None]
    """Flow -> its ingress broker; None where that is unknown."""
    buckets: Mapping[str, float | None] = field(default_factory=dict)
    """Flow -> the burst that its topic asks for, messages."""
    in_force: Mapping[SettingKey, Value] = field(default_factory=dict)
    """Rates and limits in force."""
    ingresses: Mapping[str, str] = field(default_factory=dict)
    """Flow -> the broker at which agents read it now; absent when it is not carried yet or its
    ingress is unknown."""
    structure: Difference = field(default_factory=Difference)
    """Flows and classes of the model that agents do not know as they are there."""
    pasts: Mapping[SettingKey, Past] = field(default_factory=dict)
    """How long each value stands and which way it moved last, where that is known."""
    prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(node, resource) or ("", link) -> utility per unit of capacity, the allocation's."""
    held: Mapping[str, Value] = field(default_factory=dict)
    """Flow -> what is in force and the judgement keeps, burst included."""
    offered: Mapping[str, float] = field(default_factory=dict)
    """Flow -> the rate that publishers offer now, where it is measured."""
    former: Functions | None = None
    """The utility functions of the allocation in force, where they differ."""
    former_name: str = ""

    @cached_property
    def unenforceable(self) -> tuple[str, ...]:
        """Return the flows without an ingress broker, which no gate can limit."""
        return tuple(sorted(f.id for f in self.problem.flows if not self.sources.get(f.id)))

    @cached_property
    def wanted(self) -> dict[SettingKey, Setting]:
        """Return all settings to enforce, by their keys."""
        settings = [
            Setting(
                kind=RATE,
                target={"flow": flow.id, "broker": broker},
                value=self.held.get(flow.id) or self.gate(flow.id, self.rates[flow.id]),
            )
            for flow in self.problem.flows
            if (broker := self.sources.get(flow.id))
        ]
        settings += [
            Setting(
                kind=LIMIT,
                target={"class": row.id, "flow": row.flow, "broker": row.node},
                value={"limit": int(self.populations.get(row.id, 0))},
            )
            for row in self.problem.classes
        ]
        return {setting.key: setting for setting in settings}

    def gate(self, flow: str, rate: float) -> Value:
        """Return the gate of a flow at a rate, with its topic's burst."""
        rate = rate if rate >= SMALLEST_RATE else 0.0
        return {"rate_per_s": float(rate), "burst": burst_of(rate, self.buckets.get(flow))}

    @cached_property
    def rates_now(self) -> dict[str, float]:
        """Return the rate in force of each flow that has one: at its ingress, of several brokers
        the sum."""
        rates: dict[str, float] = {}
        for (kind, key), value in self.in_force.items():
            if kind == RATE:
                target = json.loads(key)
                flow, broker = target["flow"], target["broker"]
                if self.ingresses.get(flow, broker) == broker:
                    rates[flow] = rates.get(flow, 0.0) + float(value["rate_per_s"])
        return rates

    @cached_property
    def limits_now(self) -> dict[str, int]:
        """Return the number of consumers that the limit in force admits, for each class that has
        one."""
        most = {row.id: row.population_max for row in self.problem.classes}
        return {
            name: min(int(value["limit"]), most[name])
            for (kind, key), value in self.in_force.items()
            if kind == LIMIT and (name := json.loads(key)["class"]) in most
        }

    @cached_property
    def all_enforced(self) -> bool:
        """Return whether everything the plan would set has a value in force, so that before and
        after compare."""
        return self.wanted.keys() <= self.in_force.keys()

    @cached_property
    def utility_now(self) -> float | None:
        """Return the utility of what is in force; None where part of the system has no limit.

        Flows that no gate can limit count with the allocation's own rate on both sides.
        """
        if not self.all_enforced:
            return None
        rates = self._rates_in_force
        return math.fsum(
            self.limits_now[row.id] * float(row.utility.value(rates[row.flow]))
            for row in self.problem.classes
        )

    @cached_property
    def former_utilities(self) -> tuple[float, float] | None:
        """Return the utility in force and of the proposal by the former functions; None where they
        are the same.

        Where part of the system has no limit there is no former utility either.
        """
        if self.former is None or not self.all_enforced:
            return None
        return (
            worth(self.former, self._rates_in_force, self.limits_now),
            worth(self.former, self.rates, self.populations),
        )

    @cached_property
    def _rates_in_force(self) -> dict[str, float]:
        return {**{flow: self.rates[flow] for flow in self.unenforceable}, **self.rates_now}

    @cached_property
    def admitted_now(self) -> int | None:
        """Return how many consumers the limits in force admit; None where a class has none."""
        if any(row.id not in self.limits_now for row in self.problem.classes):
            return None
        return sum(self.limits_now.values())

    @cached_property
    def highest_share_now(self) -> float | None:
        """Return the highest load over capacity of what is in force; None where it is not known."""
        if not self.all_enforced:
            return None
        return highest_share(self.problem, self._rates_in_force, self.limits_now)

    @cached_property
    def highest_share(self) -> float:
        """Return the highest load over capacity of the allocation."""
        return highest_share(self.problem, self.rates, self.populations)


def burst_of(rate_per_s: float, topic_burst: float | None) -> float:
    """Return the burst of a flow's gate in messages: that of its topic, else BURST_S of its
    rate.

    Never below one message (a smaller bucket passes nothing), by default not below LEAST_BURST.
    """
    if topic_burst is not None:
        return max(1.0, float(topic_burst))
    return max(LEAST_BURST, float(1 + math.ceil(rate_per_s * BURST_S)))


def highest_share(
    problem: Problem, rates: Mapping[str, float], populations: Mapping[str, int]
) -> float:
    """Return the largest load over capacity of any resource or link."""
    node_loads, link_loads = loads(problem, rates, populations)
    shares = [
        Scarce(name="", load=load, capacity=node.capacity[resource], price=0.0).share
        for node in problem.nodes
        for resource, load in node_loads[node.id].items()
    ]
    shares += [
        Scarce(name="", load=link_loads[link.id], capacity=link.capacity, price=0.0).share
        for link in problem.links
    ]
    return max(shares, default=0.0)
