"""Read what agents measured over a window, block by block, and compute the utility of it at the
weights that a plan was made with."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from apps.calibration.selectors import calibrated_problem
from apps.plans.domain.parts import Carried, Series
from apps.plans.domain.verdicts import BLOCKS, Window
from apps.plans.models import Plan
from apps.runs.models import Snapshot
from apps.telemetry.models import Sample
from apps.telemetry.selectors.measured import Payload, means
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model import Problem

MEASURED = 0.5
"""A block counts where a broker measured for this share of it."""

FLOWS = ("offered_per_s", "passed_per_s", "shed_per_s", "wait_p99_s")
CLASSES = ("admitted", "waiting")
LINKS = ("sent_per_s",)

Figures = Mapping[str, Mapping[str, float | None]]
"""Means over a block by metric, and then by topic, class or neighbour; None: not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Hold what was measured from `since` to `until`, by block and broker."""

    since: datetime
    until: datetime
    blocks: Sequence[Mapping[str, Figures]]
    """Of each block, in their order, the brokers that measured for long enough."""
    numbers: Sequence[int]
    """The place of each of these among all blocks of the window."""
    brokers: frozenset[str]
    """Whoever measured anything."""

    def series(self, broker: str, metric: str, name: str) -> Series:
        """Return a figure of one broker, of the blocks in which it measured it; of what it does not
        name there was nothing."""
        figures = (block[broker][metric].get(name, 0.0) for block in self.blocks if broker in block)
        return Series(blocks=tuple(figure for figure in figures if figure is not None))

    def longest_wait(
        self, topic: str, brokers: Collection[str], *, skip: timedelta = timedelta(0)
    ) -> Series:
        """Return the longest 99th percentile of the waits of a topic at any broker, of the blocks
        in which all of these brokers measured and any message waited, but for those that begin
        sooner than `skip` after the window did."""
        longest_s = []
        block_s = (self.until - self.since).total_seconds() / BLOCKS
        for number, block in zip(self.numbers, self.blocks, strict=True):
            if number * block_s < skip.total_seconds():
                continue
            waits = [figures["wait_p99_s"].get(topic) for figures in block.values()]
            known = [wait_s for wait_s in waits if wait_s is not None]
            if known and block.keys() >= set(brokers):
                longest_s.append(max(known))
        return Series(blocks=tuple(longest_s))

    def traffic(self) -> Carried:
        """Return what links carried and what passed the gates, of all brokers together."""
        blocks = self.together()
        return Carried(
            amounts=[sum(figures["sent_per_s"].values()) for figures in blocks],
            came=[sum(figures["passed_per_s"].values()) for figures in blocks],
            brokers=sorted(self.brokers),
        )

    def together(self) -> list[Mapping[str, Mapping[str, float]]]:
        """Return the sums over all brokers, of the blocks in which all of them measured."""
        return [_sum(list(block.values())) for block in self.blocks if block.keys() == self.brokers]


def measured_between(plan: Plan, since: datetime, until: datetime) -> Measured:
    """Return what the agents of the plan's system measured; one query."""
    rows = (
        Sample.objects.filter(broker__system=plan.system, at__gt=since, at__lte=until)
        .order_by("at", "id")
        .values_list("broker__name", "at", "payload")
    )
    block_s = (until - since).total_seconds() / BLOCKS
    cells: dict[int, dict[str, list[Payload]]] = defaultdict(lambda: defaultdict(list))
    brokers: set[str] = set()
    for broker, at, payload in rows.iterator(chunk_size=2000):
        # A sample tells of the time before it.
        cell = int((at - since).total_seconds() / block_s - 1e-9)
        cells[cell][broker].append(payload)
        brokers.add(broker)
    return Measured(
        since=since,
        until=until,
        blocks=[
            {
                broker: _figures(samples)
                for broker, samples in by_broker.items()
                if sum(map(_seconds, samples)) >= MEASURED * block_s
            }
            for _, by_broker in sorted(cells.items())
        ],
        numbers=sorted(cells),
        brokers=frozenset(brokers),
    )


def weights_of(plan: Plan) -> Problem | None:
    """Return the model whose utility functions the promise was computed with; None: no longer
    known.

    A plan that takes another one back promises with the weights of that one.
    """
    run = plan.run
    if run is None and plan.source_kind == "plan" and plan.source_id is not None:
        undone = Plan.objects.filter(public_id=plan.source_id).select_related("run").first()
        run = undone.run if undone else None
    plain: dict[str, Any]
    if run is not None:
        payload = Snapshot.objects.values_list("payload", flat=True).get(pk=run.snapshot_id)
        plain = json.loads(bytes(payload))
    elif plan.model_version == plan.system.model_version:
        plain = calibrated_problem(plan.system)
    else:
        return None
    try:
        return problem_from_dict(plain)
    except InvalidProblem:
        return None


def utility_window(seen: Measured, problem: Problem) -> Window:
    """Return the utility of what was measured: of the rates that passed the gates, and of the
    consumers that were admitted, at the weights of a model."""
    return Window(
        since=seen.since,
        until=seen.until,
        blocks=tuple(_utility(problem, figures) for figures in seen.together()),
        brokers=seen.brokers,
    )


def _seconds(payload: Payload) -> float:
    # What contradicts the broker's own totals measured nothing.
    return 0.0 if "suspect" in payload else float(payload.get("interval_s") or 1.0)


def _figures(samples: Sequence[Payload]) -> Figures:
    figures: dict[str, Mapping[str, float | None]] = {}
    for table, metrics in (("flows", FLOWS), ("classes", CLASSES), ("links", LINKS)):
        names = {name for payload in samples for name in payload.get(table) or ()}
        for metric in metrics:
            figures[metric] = dict.fromkeys(names) | means(samples, table, metric)
    return figures


def _sum(brokers: Sequence[Figures]) -> Mapping[str, Mapping[str, float]]:
    total: dict[str, dict[str, float]] = {}
    for metric in (*FLOWS, *CLASSES, *LINKS):
        sums: dict[str, float] = defaultdict(float)
        for figures in brokers:
            for name, amount in figures[metric].items():
                sums[name] += amount or 0.0
        total[metric] = dict(sums)
    return total


def _utility(problem: Problem, figures: Mapping[str, Mapping[str, float]]) -> float:
    passed, admitted = figures["passed_per_s"], figures["admitted"]
    return sum(
        admitted[row.id] * float(row.utility.value(passed[row.flow]))
        for row in problem.classes
        if admitted.get(row.id) and row.flow in passed
    )
