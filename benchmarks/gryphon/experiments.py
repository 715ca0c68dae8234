"""The four experiments, each under every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.gryphon import excess_capacity, gold_increase, latency, trading_day
from benchmarks.gryphon.simulation import simulate
from weir.optimizers import methods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.gryphon.simulation import Scenario, Trace
    from benchmarks.statements import Statement

COMPARED = ("greedy", "lrgp", "certified")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What to simulate, what the paper says of it, and what is to be said besides."""

    name: str
    title: str
    scenario: Callable[[], Scenario]
    statements: Callable[[Trace], list[Statement]]
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An experiment that was run; keys of the mappings are methods."""

    name: str
    title: str
    remark: str
    judged: str
    traces: Mapping[str, Trace]
    statements: Mapping[str, list[Statement]]
    utility: Mapping[str, float]


EXPERIMENTS = (
    Experiment(
        name=trading_day.NAME,
        title=trading_day.TITLE,
        scenario=trading_day.TradingDay,
        statements=trading_day.statements,
        remark="At the end of the day all 800 bronze consumers at a lower rate are worth more than "
        "fewer at 200 msg/s, because a message costs the server something before anybody gets it.",
    ),
    Experiment(
        name=gold_increase.NAME,
        title=gold_increase.TITLE,
        scenario=gold_increase.GoldIncrease,
        statements=gold_increase.statements,
        remark="Where the paper's bronze population oscillates, Weir's stands still: the same "
        "input gives the same answer, and the last percent of CPU goes into the rate of the "
        "best-effort flow instead of a few of its consumers more or less. Rate control then takes "
        "from that flow, where a percent of CPU is worth least. Utilities are not comparable "
        "here: what an answer admits now raises the latency that bounds the next one.",
    ),
    Experiment(
        name=excess_capacity.NAME,
        title=excess_capacity.TITLE,
        scenario=excess_capacity.ExcessCapacity,
        statements=excess_capacity.statements,
        remark="The rates saw a little in the calm phases too: rate control finds the edge of the "
        "capacity by crossing it.",
    ),
    Experiment(
        name=latency.NAME,
        title=latency.TITLE,
        scenario=latency.LatencyTradeOff,
        statements=latency.statements,
        remark="The round trip is the queueing model's at the allocated rate (weir.queueing).",
    ),
)


def compared() -> tuple[str, ...]:
    """The methods that are there, the one that is judged last."""
    known = methods()
    return tuple(name for name in COMPARED if name in known)


def run(experiment: Experiment, names: tuple[str, ...]) -> Outcome:
    """The experiment under each method; the last one is judged."""
    traces = {name: simulate(experiment.scenario(), name) for name in names}
    return Outcome(
        name=experiment.name,
        title=experiment.title,
        remark=experiment.remark,
        judged=names[-1],
        traces=traces,
        statements={name: experiment.statements(trace) for name, trace in traces.items()},
        utility={
            name: sum(c.result.utility for c in trace.cycles) / len(trace.cycles)
            for name, trace in traces.items()
        },
    )
