"""A discrete-time closed loop around the optimizer and the rate controller: a simulation.

One step is one second. Every 20 s the optimizer is asked with the flows and consumers that are
there; its rates and populations are enforced at once and the rate controller begins anew from
them (the paper's "snapping"). In between the rate controller moves rates every second by whether
the server is congested. The server's load is what its model says of the rates really sent and
the consumers really there, plus the work of connecting and disconnecting consumers.

What the paper does not give and the simulation assumes: how long that work takes. The server
makes CHANGES_PER_S connections or disconnections a second and is WORK_PERCENT busy with them.

With a `hidden` factor the server costs that much more than its model says, and the product's error
correction (`weir.fitting.correction`) learns it from measured over predicted load.

Deterministic: no clock, no chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benchmarks.gryphon.model import CPU, SERVER, server
from weir.fitting.correction import Correction, CorrectionParams, correct
from weir.optimizers import method as find_method
from weir.rate_controller import Params, Place, RateController
from weir.stop import after_iterations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.gryphon.model import ClassSpec, FlowSpec
    from weir.model import Problem, Result

OPTIMIZE_EVERY_S = 20
CHANGES_PER_S = 40
WORK_PERCENT = 10.0
IDLE_SHARE = 0.9
"""A producer that sends less than this share of its rate leaves it unused."""

MOST_ITERATIONS = 400
PARAMETERS: dict[str, dict[str, int]] = {"certified": {"polish_steps": 0}}
"""Without polishing, which takes most of the time and finds the last digits."""

UNBOUNDED = Params(band=1e9)
"""The paper's rate control knows no band around the allocated rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is there in one second."""

    flows: tuple[FlowSpec, ...]
    classes: tuple[ClassSpec, ...]
    offered: Mapping[str, float] = field(default_factory=dict)
    """What a producer sends at most, messages per second; left out: as much as it may."""


class Scenario(Protocol):
    """An experiment of the paper."""

    cpu: float
    seconds: int

    def moment(self, second: int) -> Moment:
        """Flows, consumers and producers in this second."""
        ...

    def observe(
        self, second: int, rates: Mapping[str, float], populations: Mapping[str, int]
    ) -> None:
        """What the server did in this second."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One answer of the optimizer."""

    second: int
    problem: Problem
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """What happened in one second."""

    second: int
    sent: Mapping[str, float]
    allowed: Mapping[str, float]
    populations: Mapping[str, int]
    cpu: float
    ratio: float
    """Measured over predicted load, as the correction smooths and clamps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A whole experiment under one method."""

    method: str
    cycles: tuple[Cycle, ...]
    seconds: tuple[Second, ...]

    def at(self, second: int) -> Cycle:
        """The answer in force in this second."""
        return self.cycles[second // OPTIMIZE_EVERY_S]


class Loop:
    """Optimizer, admission, rate control and server."""

    def __init__(self, scenario: Scenario, method: str, hidden: float | None) -> None:
        self._scenario, self._hidden = scenario, hidden
        self._correction = Correction()
        self._optimizer = find_method(method)
        self._params = self._optimizer.Params(**PARAMETERS.get(method, {}))
        self._answers: dict[tuple[object, ...], Cycle] = {}
        self._controller: RateController | None = None
        self._allowed: dict[str, float] = {}
        self._approved: dict[str, int] = {}
        self._admitted: dict[str, int] = {}
        self._changes = 0
        self._capacity = scenario.cpu
        self._method = method

    def run(self) -> Trace:
        """All seconds of the scenario."""
        cycles: list[Cycle] = []
        seconds: list[Second] = []
        for second in range(self._scenario.seconds):
            moment = self._scenario.moment(second)
            self._leave(moment)
            if second % OPTIMIZE_EVERY_S == 0:
                cycles.append(self._optimize(second, moment))
            seconds.append(self._second(second, moment))
            last = seconds[-1]
            self._scenario.observe(second, last.sent, last.populations)
        return Trace(method=self._method, cycles=tuple(cycles), seconds=tuple(seconds))

    def _leave(self, moment: Moment) -> None:
        """Consumers that are gone are gone at once, whatever was admitted."""
        for entry in moment.classes:
            before = self._admitted.get(entry.id, 0)
            if before > entry.population:
                self._admitted[entry.id] = entry.population
                self._changes += before - entry.population

    def _optimize(self, second: int, moment: Moment) -> Cycle:
        cpu = self._scenario.cpu / self._correction.factor
        asked = (cpu, moment.flows, tuple((c.id, c.population) for c in moment.classes))
        answer = self._answers.get(asked)
        if answer is None:
            problem = server(cpu=cpu, flows=moment.flows, classes=moment.classes)
            result = self._optimizer.solve(
                problem, self._params, stop=after_iterations(MOST_ITERATIONS), seed=0
            )
            answer = self._answers[asked] = Cycle(second=second, problem=problem, result=result)
        result = answer.result
        self._changes += sum(
            abs(count - self._admitted.get(name, 0)) for name, count in result.populations.items()
        )
        self._approved = dict(result.populations)
        self._admitted = dict(result.populations)
        self._allowed = dict(result.rates)
        self._capacity = cpu
        self._controller = RateController(
            answer.problem, rates=result.rates, populations=result.populations, params=UNBOUNDED
        )
        return Cycle(second=second, problem=answer.problem, result=result)

    def _second(self, second: int, moment: Moment) -> Second:
        assert self._controller is not None  # second 0 optimizes
        allowed = self._allowed
        sent = {flow: min(rate, moment.offered.get(flow, rate)) for flow, rate in allowed.items()}
        place = Place("node", SERVER, CPU)
        # Who is there are those who were approved, except for a cycle in which some left.
        there = None if self._admitted == self._approved else self._admitted
        share = self._controller.utilisation(sent, there)[place]
        predicted = share * self._capacity
        work = WORK_PERCENT * min(1.0, self._changes / CHANGES_PER_S)
        self._changes = max(0, self._changes - CHANGES_PER_S)
        cpu = predicted * (self._hidden or 1.0) + work
        if self._hidden is not None:
            self._correction = correct(
                self._correction,
                measured=cpu,
                predicted=predicted,
                capacity=self._scenario.cpu,
                params=CorrectionParams(),
            )
        idle = [flow for flow, rate in sent.items() if rate < IDLE_SHARE * allowed[flow]]
        congested = {place} if cpu > self._scenario.cpu * (1 + 1e-9) else ()
        self._allowed = self._controller.step(allowed, congested=congested, idle=idle)
        return Second(
            second=second,
            sent=sent,
            allowed=allowed,
            populations=dict(self._admitted),
            cpu=cpu,
            ratio=self._correction.ratio,
        )


def simulate(scenario: Scenario, method: str, *, hidden: float | None = None) -> Trace:
    """The scenario from its first second to its last under one optimizer."""
    return Loop(scenario, method, hidden).run()
