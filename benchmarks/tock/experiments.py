"""All experiments of the slides, each with its picture and its part of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.tock import (
    algorithms,
    day,
    inputs,
    layers,
    pictures,
    report,
    scenario,
    wildcards,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.statements import Statement
    from benchmarks.tock.settings import Effort


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is run, what the slides say of it, and how it is shown."""

    name: str
    title: str
    run: Callable[[Effort], Any]
    statements: Callable[[Any], list[Statement]]
    draw: Callable[[Any, Any], None] | None = None
    before: str = ""
    after: Callable[[Any], str] = lambda outcome: ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """An experiment that was run."""

    experiment: Experiment
    measured: Any
    statements: list[Statement]


def _of_algorithms(rows: list[algorithms.Case]) -> str:
    tables = (report.outside(rows), report.algorithms_table(rows), report.searches_table(rows))
    return "\n".join([*tables, WHY_ALGORITHMS])


WHY_LAYERS = (
    "Judged for shares below 1: at 1 the cost depends on groups alone, whatever the streams, and "
    "beyond it streams only add to it. What is left there is the chance of K-means' random start."
)
WHY_ALGORITHMS = (
    "**GF and SF**: which is better is a matter of the share and of how many streams a group has. "
    "SF makes good streams and leaves groups what comes of them, GF the other way round, so the "
    "dearer an unwanted message is at the transport, the better GF comes off. The slides' order "
    "asks for a share that is not small, and their advantage of a hierarchy for one below 1: what "
    "they measured probably lies between, with hundreds of streams. **GF / Random** falls with "
    "more streams and groups, and with what users have in common. **RRA** begins with a step of GF "
    "and keeps the best map, so that it can at worst be as good."
)
WHY_WILDCARDS = (
    "The slides measured the throughput of a JMS prototype. Here what is sent is counted: a "
    "transmitter that is the bottleneck delivers in proportion to one over it. That copies grow "
    "with n when each user has its own follows from the subscriptions; no clock is in it."
)

EXPERIMENTS = (
    Experiment(
        name="cost",
        title="What a move costs",
        run=lambda effort: None,
        statements=lambda outcome: inputs.cost_statements(),
    ),
    Experiment(
        name="load",
        title="The market load",
        run=inputs.figures,
        statements=inputs.load_statements,
        draw=pictures.draw_load,
        after=lambda loads: (
            "What is taken cannot disagree. The default load of the first seed is "
            "in the picture; rates fall by rank as popularity does, in an order of their own."
        ),
    ),
    Experiment(
        name="layers",
        title="The effect of the number of groups and streams",
        run=layers.layers,
        statements=layers.statements,
        draw=pictures.draw_layers,
        before="By share; means of the seeds, Weir with the first.",
        after=lambda measured: WHY_LAYERS,
    ),
    Experiment(
        name="algorithms",
        title="Algorithm comparison",
        run=algorithms.cases,
        statements=algorithms.statements,
        draw=pictures.draw_algorithms,
        after=_of_algorithms,
    ),
    Experiment(
        name="convergence",
        title="Time and convergence",
        run=algorithms.descents,
        statements=algorithms.convergence_statements,
        draw=pictures.draw_descents,
        before="The default load, first seed, share 0.25. GF and SF after 1, 2, 3, 5, 10, "
        "20 and 100 passes; IT and RRA after each round; Weir with effort 0, 5, 20 (its default) "
        "and 100.",
    ),
    Experiment(
        name="scenario",
        title="The basic scenario",
        run=scenario.scenario,
        statements=scenario.statements,
    ),
    Experiment(
        name="day",
        title="Adaptive mapping",
        run=day.hours,
        statements=day.statements,
        draw=pictures.draw_day,
        before=report.DAY,
        after=report.day_table,
    ),
    Experiment(
        name="wildcards",
        title="Extensive wild cards",
        run=wildcards.copies,
        statements=wildcards.statements,
        draw=pictures.draw_wildcards,
        after=lambda rows: WHY_WILDCARDS,
    ),
)


def outcomes(effort: Effort) -> Iterator[Outcome]:
    """Yield each experiment when it was run."""
    for experiment in EXPERIMENTS:
        measured = experiment.run(effort)
        yield Outcome(
            experiment=experiment, measured=measured, statements=experiment.statements(measured)
        )


def section(outcome: Outcome, picture: str) -> report.Section:
    """Return an experiment's part of the page."""
    experiment = outcome.experiment
    return report.Section(
        title=experiment.title,
        statements=outcome.statements,
        picture=picture,
        before=experiment.before,
        after=experiment.after(outcome.measured),
    )
