"""Tell before a plan is carried out which topics get more messages than their new gates let pass.

Messages of a reliable topic wait then, until a limit is reached; those of a best-effort topic are
discarded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apps.catalog.models import Delivery, Topic
from apps.common.formatting import figure
from apps.executions.selectors.modelled import FLOW
from apps.plans.models import Plan
from apps.plans.selectors.intermediate import RATE
from apps.telemetry.domain.backlog import Backlog, Growth
from apps.telemetry.selectors.backlog import forecast
from apps.telemetry.selectors.measured import measured
from weir.model.plan import Action

WINDOW_S = 30.0
"""The time over which rates are means here: a plan is read for longer than a burst lasts."""
LEAST_SHARE = 0.01
"""The share of a gate's rate by which more must arrive: an allocation asks for what it measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWait:
    """Describe one topic that gets more messages than its gate lets pass after the plan."""

    topic: str
    topic_id: str
    broker: str
    reliable: bool
    """Whether messages wait; those of a best-effort topic are discarded."""
    offered_per_s: float
    gate_per_s: float
    waiting: int
    full_in_s: float | None
    """Seconds after the plan until the first known limit is reached; None: see `why`."""
    why: str
    alarm: bool
    """Whether that is within the time of an alarm."""
    sentence: str

    @property
    def excess_per_s(self) -> float:
        """Return how many messages a second more arrive than leave."""
        return self.offered_per_s - self.gate_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Hold what the gates of a plan do to what publishers send now."""

    topics: list[TopicWait] = field(default_factory=list)
    """The one that is full first, first."""
    unmeasured: list[str] = field(default_factory=list)
    """Topics whose gate the plan sets and whose messages nobody measures now."""


def waits_of(plan: Plan) -> Waits:
    """Return the topics whose gate, as the plan leaves it, lets less pass than publishers send."""
    gates, deliveries = _gates(plan), _deliveries(plan)
    if not gates:
        return Waits()
    offered = measured(plan.system, window_s=WINDOW_S).offered
    excess = {
        flow: offered[flow] - rate
        for flow, (_, rate) in gates.items()
        if flow in offered and offered[flow] - rate > LEAST_SHARE * rate
    }
    topics = {
        name: (str(public_id), deliveries.get(name, delivery) == Delivery.RELIABLE)
        for name, public_id, delivery in Topic.objects.filter(
            system=plan.system, name__in=excess
        ).values_list("name", "public_id", "delivery")
    }
    reliable = {flow: more for flow, more in excess.items() if topics.get(flow, ("", False))[1]}
    ends = forecast(plan.system, reliable) if reliable else {}
    rows = [
        _row(flow, gates[flow], offered[flow], topics[flow], ends.get(flow))
        for flow in excess
        if flow in topics
    ]
    return Waits(
        topics=sorted(rows, key=_worst_first),
        unmeasured=sorted(gates.keys() - offered.keys()),
    )


def _row(
    flow: str,
    gate: tuple[str, float],
    offered: float,
    topic: tuple[str, bool],
    end: Backlog | None,
) -> TopicWait:
    broker, rate = gate
    topic_id, reliable = topic
    more = figure(offered - rate)
    sentence = f"{flow}: {more} of {figure(offered)} msg/s will be discarded."
    if reliable:
        when = "" if end is None else end.end
        sentence = f"{flow}: {more} msg/s more arrive than leave; {when or 'no limit known'}."
    return TopicWait(
        topic=flow,
        topic_id=topic_id,
        broker=broker,
        reliable=reliable,
        offered_per_s=offered,
        gate_per_s=rate,
        waiting=0 if end is None else end.waiting,
        full_in_s=None if end is None else end.full_in_s,
        why="" if end is None else end.why,
        alarm=end is not None and end.growth is Growth.ALARM,
        sentence=sentence,
    )


def _worst_first(row: TopicWait) -> tuple[bool, float, float, str]:
    full = float("inf") if row.full_in_s is None else row.full_in_s
    return not row.reliable, full, -row.excess_per_s, row.topic


def _actions(plan: Plan, kind: str) -> list[Action]:
    return [a for step in plan.content.steps for a in step.actions if a.kind == kind]


def _gates(plan: Plan) -> Mapping[str, tuple[str, float]]:
    """Return the broker and rate of every gate that the plan leaves behind, by flow: the last value
    counts."""
    gates: dict[tuple[str, str], float | None] = {}
    for action in _actions(plan, RATE):
        key = action.target["flow"], action.target["broker"]
        gates[key] = None if action.after is None else float(action.after["rate_per_s"])
    return {flow: (broker, rate) for (flow, broker), rate in gates.items() if rate is not None}


def _deliveries(plan: Plan) -> Mapping[str, str]:
    """Return the delivery of the flows that the plan begins to carry, or carries otherwise."""
    return {
        action.target["flow"]: str(action.after["delivery"])
        for action in _actions(plan, FLOW)
        if action.after is not None
    }
