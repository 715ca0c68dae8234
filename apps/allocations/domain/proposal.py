"""An allocation beside what is in force: everything a plan is made of, as plain values.

Targets, flows, classes and brokers are names; rates are msg/s. Pure; `reading` fills it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from apps.plans.domain.structure import Difference
from weir.actions import SettingKey, target_key
from weir.enactment import Past
from weir.model import Problem, loads
from weir.model.plan import Value

RATE, LIMIT = "set_flow_rate", "set_population"

LEAST_BURST = 2.0
"""One message may pass while the next one's token comes in: with less, a gate that looks a
moment late would lose part of the rate."""

BURST_S = 0.1
"""A flow without a token bucket of its own may send what its rate gives in this time at once."""

SMALLEST_RATE = 1e-9
"""Lower rates are 0: one message in thirty years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value that shall be enforced."""

    kind: str
    target: Mapping[str, str]
    value: Value

    @property
    def key(self) -> SettingKey:
        """Under which name it is kept."""
        return self.kind, target_key(self.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scarce:
    """A resource with its load and price in the allocation."""

    name: str
    """`cpu of rot-1`, or `link rot-1 ham-1`."""
    load: float
    capacity: float
    price: float
    """What one more unit of capacity would be worth, utility."""

    @property
    def share(self) -> float:
        """Load over capacity."""
        if self.capacity > 0:
            return self.load / self.capacity
        return math.inf if self.load > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What an allocation asks for, and what is in force and measured now."""

    name: str
    problem: Problem
    rates: Mapping[str, float]
    populations: Mapping[str, int]
    utility: float
    resources: tuple[Scarce, ...]
    sources: Mapping[str, str | None]
    """Flow -> its ingress broker; None: nobody knows where it enters."""
    buckets: Mapping[str, float | None] = field(default_factory=dict)
    """Flow -> the burst that its topic asks for, messages."""
    in_force: Mapping[SettingKey, Value] = field(default_factory=dict)
    """Rates and limits."""
    ingresses: Mapping[str, str] = field(default_factory=dict)
    """Flow -> the broker at which agents read it now; absent: it is not carried yet, or nobody
    knows where it enters."""
    structure: Difference = field(default_factory=Difference)
    """Flows and classes of the model that agents do not know as they are there."""
    pasts: Mapping[SettingKey, Past] = field(default_factory=dict)
    """How long each value stands and which way it moved last, where that is known."""
    prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(node, resource) or ("", link) -> utility per unit of capacity, the allocation's."""
    held: Mapping[str, Value] = field(default_factory=dict)
    """Flow -> what is in force and stays by judgement, burst included."""
    offered: Mapping[str, float] = field(default_factory=dict)
    """Flow -> what publishers offer now, where it is measured."""

    @cached_property
    def unenforceable(self) -> tuple[str, ...]:
        """Flows that enter nowhere in particular: no gate can limit them."""
        return tuple(sorted(f.id for f in self.problem.flows if not self.sources.get(f.id)))

    @cached_property
    def wanted(self) -> dict[SettingKey, Setting]:
        """Everything that shall be enforced."""
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
        """What a flow's gate is set to at a rate, with its topic's burst."""
        rate = rate if rate >= SMALLEST_RATE else 0.0
        return {"rate_per_s": float(rate), "burst": burst_of(rate, self.buckets.get(flow))}

    @cached_property
    def rates_now(self) -> dict[str, float]:
        """Flow -> rate in force, as far as one is: at its ingress, of several brokers the sum."""
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
        """Class -> consumers admitted by the limit in force, as far as one is."""
        most = {row.id: row.population_max for row in self.problem.classes}
        return {
            name: min(int(value["limit"]), most[name])
            for (kind, key), value in self.in_force.items()
            if kind == LIMIT and (name := json.loads(key)["class"]) in most
        }

    @cached_property
    def all_enforced(self) -> bool:
        """Everything the plan would set has a value in force: before and after compare."""
        return self.wanted.keys() <= self.in_force.keys()

    @cached_property
    def utility_now(self) -> float | None:
        """Utility of what is in force; None where part of the system has no limit.

        Flows that no gate can limit count with the allocation's own rate on both sides.
        """
        if not self.all_enforced:
            return None
        rates = {**{flow: self.rates[flow] for flow in self.unenforceable}, **self.rates_now}
        return math.fsum(
            self.limits_now[row.id] * float(row.utility.value(rates[row.flow]))
            for row in self.problem.classes
        )

    @cached_property
    def admitted_now(self) -> int | None:
        """Consumers that the limits in force admit; None where a class has none."""
        if any(row.id not in self.limits_now for row in self.problem.classes):
            return None
        return sum(self.limits_now.values())

    @cached_property
    def highest_share_now(self) -> float | None:
        """Highest load over capacity of what is in force; None where it is not known."""
        if not self.all_enforced:
            return None
        rates = {**{flow: self.rates[flow] for flow in self.unenforceable}, **self.rates_now}
        return highest_share(self.problem, rates, self.limits_now)

    @cached_property
    def highest_share(self) -> float:
        """Highest load over capacity of the allocation."""
        return highest_share(self.problem, self.rates, self.populations)


def burst_of(rate_per_s: float, asked: float | None) -> float:
    """Burst of a flow's gate, messages: what its topic asks for, else BURST_S of its rate.

    Never below one message (a smaller bucket passes nothing), by default not below LEAST_BURST.
    """
    if asked is not None:
        return max(1.0, float(asked))
    return max(LEAST_BURST, float(1 + math.ceil(rate_per_s * BURST_S)))


def highest_share(
    problem: Problem, rates: Mapping[str, float], populations: Mapping[str, int]
) -> float:
    """The largest load over capacity of any resource or link."""
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
