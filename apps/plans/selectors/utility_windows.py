"""Compute the utility that agents measured over a window, at the weights that a plan was made
with."""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from apps.calibration.selectors import calibrated_problem
from apps.plans.domain.verdicts import BLOCK, Window
from apps.plans.models import Plan
from apps.runs.models import Snapshot
from apps.telemetry.models import Sample
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model import Problem

MEASURED = 0.5
"""A block counts where every broker measured for this share of it."""


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


def utility_window(plan: Plan, problem: Problem, since: datetime, until: datetime) -> Window:
    """Return what was measured from `since` to `until`, block by block. One query.

    A broker's samples are summed up over a block; the utility is that of the rates that passed the
    gates and of the consumers that were admitted.
    """
    rows = (
        Sample.objects.filter(broker__system=plan.system, at__gt=since, at__lte=until)
        .order_by("at", "id")
        .values_list("broker__name", "at", "payload")
    )
    cells: dict[int, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    brokers: set[str] = set()
    for broker, at, payload in rows.iterator(chunk_size=2000):
        # A sample tells of the time before it.
        cell = int((at - since).total_seconds() / BLOCK.total_seconds() - 1e-9)
        cells[cell][broker].append(payload)
        brokers.add(broker)
    return Window(
        since=since,
        until=until,
        blocks=tuple(
            _utility(problem, by_broker.values())
            for _, by_broker in sorted(cells.items())
            if by_broker.keys() == brokers and all(map(_measured_enough, by_broker.values()))
        ),
        brokers=frozenset(brokers),
    )


def _seconds(payload: dict[str, Any]) -> float:
    return float(payload.get("interval_s") or 1.0)


def _measured_enough(samples: list[dict[str, Any]]) -> bool:
    return sum(map(_seconds, samples)) >= MEASURED * BLOCK.total_seconds()


def _utility(problem: Problem, brokers: Iterable[list[dict[str, Any]]]) -> float:
    passed: dict[str, float] = defaultdict(float)
    admitted: dict[str, float] = defaultdict(float)
    for samples in brokers:
        seconds = sum(map(_seconds, samples))
        for payload in samples:
            share = _seconds(payload) / seconds
            for flow, row in payload.get("flows", {}).items():
                passed[flow] += share * float(row.get("passed_per_s") or 0.0)
            for name, row in payload.get("classes", {}).items():
                admitted[name] += share * float(row.get("admitted") or 0.0)
    return sum(
        admitted[row.id] * float(row.utility.value(passed[row.flow]))
        for row in problem.classes
        if admitted.get(row.id) and row.flow in passed
    )
