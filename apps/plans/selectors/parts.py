"""Read what the parts of a plan's promise were, and what was measured of each of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from apps.executions.models import Setting
from apps.executions.selectors import in_force
from apps.executions.selectors.flow_map import without_moves
from apps.plans.domain.parts import (
    NOTHING,
    Carried,
    DelayMinutes,
    DelayObjective,
    Part,
    Quantity,
    Series,
    judge_carried,
    judge_consumers,
    judge_delay,
    judge_load,
    judge_rate,
    judge_wait,
)
from apps.plans.domain.verdicts import SETTLING, window_before
from apps.plans.models import Plan
from apps.plans.selectors.intermediate import LIMIT, RATE, place_shares, state_shares
from apps.plans.selectors.levels import start_of
from apps.plans.selectors.measured_windows import Measured
from apps.systems.models import System
from weir import actions
from weir.actions.set_bucket import KIND as BUCKET
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.model.plan import FILTERING, LINK_TRAFFIC, TAIL_DELAY, Action
from weir.queueing.wait_histogram import WINDOW_S

Span = tuple[datetime, datetime]


class Objectives(Protocol):
    """What judges objectives about delays minute by minute."""

    def about(self, system: System, topics: Iterable[str]) -> Sequence[DelayObjective]:
        """Return the objectives about delays of some topics, as they are now."""

    def minutes(
        self, objectives: Sequence[DelayObjective], before: Span, after: Span
    ) -> Sequence[DelayMinutes | None]:
        """Return the judged minutes of each that lie whole in two windows; None: it is no longer
        as it was."""


WAITS_BEFORE = timedelta(seconds=WINDOW_S) - SETTLING
"""So long after the window began agents' percentiles of waits reach back before the end of the
execution."""

_objectives: list[Objectives] = []


def offer_objectives(objectives: Objectives) -> None:
    """Name who judges objectives: that is a storey above this one."""
    _objectives[:] = [objectives]


class Filtering(Protocol):
    """What knows maps of flows to streams, and what receivers filter by them."""

    def costs(self, plan: Plan, rates: Sequence[Mapping[str, float]], *, was: bool) -> Carried:
        """Return the work of filtering per second, and how many messages per second receivers get
        and wanted, at each of some rates in msg/s by topic: by the map as the plan leaves it, or as
        it was before."""


_filtering: list[Filtering] = []


def offer_filtering(filtering: Filtering) -> None:
    """Name who knows maps of flows to streams: that is a storey above this one."""
    _filtering[:] = [filtering]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Hold what a plan leaves in force of the rates and limits that it changes, and what else it
    promises that is measured."""

    gates: Mapping[tuple[str, str], float | None]
    """The rate in msg/s by topic and broker; None: no limit."""
    limits: Mapping[tuple[str, str], int | None]
    """The most consumers by class and broker; None: no limit."""
    topics: frozenset[str]
    """Whose delays may change."""
    carried: Mapping[Quantity, tuple[float, float]]
    """What it promises of traffic on links and of filtering: before and after."""
    waits: Mapping[str, tuple[float, frozenset[str]]]
    """What it promises of waits at a divided bucket, by topic, seconds; and the brokers whose parts
    it sets."""

    def __bool__(self) -> bool:
        """Return whether there is anything that can be measured."""
        return bool(self.gates or self.limits or self.carried or self.waits)


def touched_by(plan: Plan) -> Touched:
    """Return what the plan leaves in force, where it changes rates and limits."""
    gates: dict[tuple[str, str], float | None] = {}
    limits: dict[tuple[str, str], int | None] = {}
    topics: set[str] = set()
    for action in _settings(plan):
        target, after = action.target, action.after
        if action.kind == RATE:
            rate = None if after is None else float(after["rate_per_s"])
            gates[target["flow"], target["broker"]] = rate
        else:
            most = None if after is None else int(after["limit"])
            limits[target["class"], target["broker"]] = most
        topics.add(target["flow"])
    waits = _waits(plan)
    return Touched(
        gates=gates,
        limits=limits,
        topics=frozenset(topics | waits.keys()),
        carried={
            quantity: (promise.before, promise.after)
            for promise in plan.content.promise
            for quantity in _CARRIED.get(promise.name, ())
            if promise.before is not None and promise.after is not None
        },
        waits=waits,
    )


_CARRIED = {LINK_TRAFFIC: (Quantity.TRAFFIC,), FILTERING: (Quantity.FILTERING,)}


def _waits(plan: Plan) -> dict[str, tuple[float, frozenset[str]]]:
    """Return what the plan promises of waits at the parts that it sets, and where these are."""
    brokers: dict[str, set[str]] = {}
    for step in plan.content.steps:
        for action in step.actions:
            if action.kind == BUCKET:
                brokers.setdefault(action.target["flow"], set()).add(action.target["broker"])
    promised = {promise.name: promise.after for promise in plan.content.promise}
    return {
        topic: (after_s, frozenset(at))
        for topic, at in brokers.items()
        if (after_s := promised.get(TAIL_DELAY.format(topic=topic))) is not None
    }


def _settings(plan: Plan) -> list[Action]:
    return [
        action
        for step in plan.content.steps
        for action in step.actions
        if action.kind in (RATE, LIMIT)
    ]


def figures_before(plan: Plan, seen: Measured, problem: Problem | None) -> dict[str, Any]:
    """Return as plain data what was measured of the parts in the window before, and which place the
    plan fills most."""
    touched = touched_by(plan)
    place = None if problem is None else _fullest_place(plan, problem)
    load = None
    if problem is not None and place is not None:
        load = {
            "place": place[0],
            "promised": place[1],
            "blocks": list(_load_blocks(problem, seen, place[0]).blocks),
        }
    return {
        "passed": [
            [topic, broker, list(seen.series(broker, "passed_per_s", topic).blocks)]
            for topic, broker in touched.gates
        ],
        "admitted": [
            [name, broker, list(seen.series(broker, "admitted", name).blocks)]
            for name, broker in touched.limits
        ],
        "load": load,
        "carried": {
            quantity.value: asdict(_carried(plan, quantity, seen, was=True))
            for quantity in touched.carried
        },
        "waits": {
            topic: list(seen.longest_wait(topic, brokers).blocks)
            for topic, (_, brokers) in touched.waits.items()
        },
        "delays": [asdict(each) for each in _about_delays(plan.system, touched)],
    }


def _about_delays(system: System, touched: Touched) -> Sequence[DelayObjective]:
    (objectives,) = _objectives
    return objectives.about(system, touched.topics) if touched.topics else []


def parts_of(
    plan: Plan,
    before: Mapping[str, Any],
    seen: Measured,
    problem: Problem | None,
) -> list[Part]:
    """Judge every part of the plan's promise, by what `figures_before` gave and what was measured
    in the window after."""
    assert plan.execution is not None
    assert plan.execution.started_at is not None
    touched = touched_by(plan)
    window_s = (seen.until - seen.since).total_seconds()
    controlled = {
        (row.target["flow"], row.target["broker"]): float(row.controlled["rate_per_s"])
        for row in Setting.objects.filter(system=plan.system, kind=RATE, controlled__isnull=False)
    }
    passed, admitted = (_by_place(before.get(name, [])) for name in ("passed", "admitted"))
    rates = [
        judge_rate(
            topic,
            broker,
            limit,
            window_s=window_s,
            controlled=controlled.get((topic, broker)),
            passed_before=passed.get((topic, broker), NOTHING),
            offered=seen.series(broker, "offered_per_s", topic),
            passed=seen.series(broker, "passed_per_s", topic),
            shed=seen.series(broker, "shed_per_s", topic),
        )
        for (topic, broker), limit in touched.gates.items()
    ]
    consumers = [
        judge_consumers(
            name,
            broker,
            limit,
            admitted_before=admitted.get((name, broker), NOTHING),
            admitted=seen.series(broker, "admitted", name),
            waiting=seen.series(broker, "waiting", name),
        )
        for (name, broker), limit in touched.limits.items()
    ]
    load = before.get("load")
    places = (
        [
            judge_load(
                load["place"],
                load["promised"],
                before=Series(blocks=tuple(load["blocks"])),
                after=_load_blocks(problem, seen, load["place"]),
            )
        ]
        if load is not None and problem is not None
        else []
    )
    carried_before = before.get("carried", {})
    carried = [
        judge_carried(
            quantity,
            promised,
            Carried(**carried_before.get(quantity.value, {})),
            _carried(plan, quantity, seen, was=False),
        )
        for quantity, promised in touched.carried.items()
    ]
    waited = before.get("waits", {})
    waits = [
        judge_wait(
            topic,
            promised_s,
            before=Series(blocks=tuple(waited.get(topic, ()))),
            after=seen.longest_wait(topic, brokers, skip=WAITS_BEFORE),
        )
        for topic, (promised_s, brokers) in touched.waits.items()
    ]
    about = [DelayObjective(**plain) for plain in before.get("delays", [])]
    (objectives,) = _objectives
    started = window_before(plan.execution.started_at, window_s)
    minutes = objectives.minutes(about, started, (seen.since, seen.until)) if about else []
    delays = [judge_delay(*pair) for pair in zip(about, minutes, strict=True)]
    return [*rates, *consumers, *places, *carried, *waits, *delays]


def _carried(plan: Plan, quantity: Quantity, seen: Measured, *, was: bool) -> Carried:
    """Return what links carried or receivers filtered in the window, by the map as the plan leaves
    it, or as it was before."""
    if quantity is Quantity.TRAFFIC:
        return seen.traffic()
    (filtering,) = _filtering
    costs = filtering.costs(plan, [each["passed_per_s"] for each in seen.together()], was=was)
    return replace(costs, brokers=sorted(seen.brokers))


def _by_place(rows: Sequence[Any]) -> dict[tuple[str, str], Series]:
    return {(name, broker): Series(blocks=tuple(blocks)) for name, broker, blocks in rows}


def _fullest_place(plan: Plan, problem: Problem) -> tuple[str, float] | None:
    """Return the place that is fullest when the plan's limits are in force, and how full, of those
    at which limits bound all that loads them; None: there is none, or something else is in force
    than the plan starts from."""
    steps = without_moves(plan.content.steps)
    if not _settings(plan):
        return None
    state = start_of(in_force(plan.system), steps)
    if state is None:
        return None
    try:
        after = actions.replay(state, steps)
    except InvalidProblem:
        return None
    shares = state_shares(problem, after)
    # What nothing limits is known by no more than the model's figure: with twice that one, places
    # that it loads are twice as full.
    unbounded = state_shares(_with_twice_the_demand(problem), after)
    known = {
        name: share
        for name, share in shares.items()
        if 0 < share < math.inf and unbounded[name] <= share
    }
    if not known:
        return None
    place = max(sorted(known), key=lambda name: known[name])
    return place, known[place]


def _with_twice_the_demand(problem: Problem) -> Problem:
    return replace(
        problem,
        flows=tuple(replace(flow, rate_max=2 * flow.rate_max) for flow in problem.flows),
        classes=tuple(
            replace(row, population_max=2 * row.population_max) for row in problem.classes
        ),
    )


def _load_blocks(problem: Problem, seen: Measured, place: str) -> Series:
    """Return how full a place was, at the model's costs, in the blocks in which every broker whose
    gates and classes count measured."""
    needed = {row.node for row in problem.classes}
    needed |= {flow.source for flow in problem.flows if flow.source is not None}
    if not needed <= seen.brokers:
        return Series()
    return Series(
        blocks=tuple(
            place_shares(problem, figures["passed_per_s"], figures["admitted"]).get(place, 0.0)
            for figures in seen.together()
        )
    )
