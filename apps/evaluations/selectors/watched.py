"""Read what triggers of overlays watch: the fullest broker, and what routing costs now."""

from apps.common.formatting import counted, figure, percent
from apps.evaluations.models import Candidate, Evaluation, TrafficSource
from apps.evaluations.selectors.problem import evaluation_problem
from apps.evaluations.selectors.traffic import TrafficReading, traffic_now
from apps.runs.selectors import Reading
from apps.systems.models import System
from apps.topology.models import Overlay
from apps.topology.services import edges_of
from weir.errors import InvalidProblem
from weir.lifecycle.runs import RunState
from weir.model.evaluation import Routing
from weir.routing.cost import routing

WINDOW_S = 30.0
"""The time over which measured rates are averaged."""


def broker_overload(system: System) -> Reading:
    """Return the load of the fullest broker over its capacity, with the traffic that agents
    measure."""
    now = _now(system)
    if isinstance(now, Reading):
        return now
    routed, _ = now
    if not routed.highest_broker:
        return Reading(value=None, detail="No broker has a capacity that messages can be held to.")
    others = len(routed.overloaded) - 1
    more = f" {counted(others, 'more is', 'more are')} above theirs." if others > 0 else ""
    return Reading(
        value=routed.highest_load,
        detail=f"{routed.highest_broker} handles {percent(routed.highest_load, 1)} of its "
        f"capacity.{more}",
    )


def routing_drift(system: System) -> Reading:
    """Return how far the messages over links per published one differ from those of the last
    evaluation."""
    now = _now(system)
    if isinstance(now, Reading):
        return now
    routed, reading = now
    last = (
        Evaluation.objects.filter(system=system, run__state=RunState.SUCCEEDED)
        .order_by("-id")
        .first()
    )
    if last is None:
        return Reading(value=None, detail="The overlay was not evaluated yet.")
    pairs = [list(pair) for pair in sorted(_today(system))]
    then = Candidate.objects.filter(
        evaluation=last, edges=pairs, traffic_per_s__isnull=False
    ).first()
    published = float(last.traffic["published_per_s"])
    if then is None or published <= 0 or not then.traffic_per_s:
        detail = f"{last} did not look at the overlay that is in force now."
        return Reading(value=None, detail=detail)
    if reading.published_per_s <= 0:
        return Reading(value=None, detail="Nothing is published now.")
    before = then.traffic_per_s / published
    after = routed.link_messages_per_s / reading.published_per_s
    return Reading(
        value=abs(after - before) / before,
        detail=f"A published message crosses {figure(after)} links, {figure(before)} at {last}.",
    )


def _today(system: System) -> frozenset[tuple[str, str]]:
    overlay = Overlay.objects.filter(system=system, in_force=True).first()
    return edges_of(overlay) if overlay else frozenset()


def _now(system: System) -> Reading | tuple[Routing, TrafficReading]:
    """Return the routing of the overlay in force with measured traffic, or why there is none."""
    today = _today(system)
    if not today:
        return Reading(value=None, detail="No overlay is in force.")
    reading = traffic_now(system, window_s=WINDOW_S)
    if reading.source != TrafficSource.MEASURED:
        return Reading(value=None, detail=reading.detail)
    try:
        problem = evaluation_problem(
            system=system,
            brokers={broker for pair in today for broker in pair},
            today=today,
            traffic=reading,
            options={},
            weights={},
            horizon_s=1.0,
        )
    except InvalidProblem as error:
        return Reading(value=None, detail=f"The model cannot be read: {error}")
    return routing(problem, today), reading
