"""Read every flow of a system: approved, controlled, measured and promised rates."""

from dataclasses import dataclass
from typing import Any

from apps.allocations.domain.proposal import RATE
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.catalog.models import Topic
from apps.demand.selectors.used import wanted_rates
from apps.executions.models import Setting
from apps.policies.selectors import terms_for
from apps.systems.models import System
from apps.telemetry.domain.backlog import Backlog
from apps.telemetry.selectors.backlog import backlogs_of
from apps.telemetry.selectors.measured import Measured, measured


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    """Describe one flow; rates in msg/s, None where there is none or nothing is measured."""

    flow: str
    broker: str | None
    in_force_per_s: float | None
    burst: float | None
    controlled_per_s: float | None
    promised_per_s: float | None
    rate_min_per_s: float
    rate_max_per_s: float
    band_low_per_s: float | None
    band_high_per_s: float | None
    offered_per_s: float | None
    passed_per_s: float | None
    shed_per_s: float | None
    backlog: int | None
    waiting: Backlog | None
    """How the backlog of a reliable topic moves; None for others, and where nothing is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFlows:
    """Hold all flows, and the plan behind their rates."""

    rate_control: bool
    plan: str | None
    """The public id of the plan that was carried out last."""
    plan_name: str | None
    flows: list[FlowStatus]


def flow_status(system: System) -> SystemFlows:
    """Return all flows in a few queries, however many there are."""
    terms = terms_for(system)
    plan = latest_plan(system)
    allocation = latest_allocation(plan) if plan else None
    promised = dict(allocation.rates.values_list("flow", "rate_per_s")) if allocation else {}
    gates = {
        (row.target["flow"], row.target["broker"]): row
        for row in Setting.objects.filter(system=system, kind=RATE)
    }
    seen, waiting = measured(system), backlogs_of(system)
    wanted = wanted_rates(system)
    topics = Topic.objects.filter(system=system).select_related("source").order_by("name")
    return SystemFlows(
        rate_control=terms.rate_control,
        plan=str(plan.public_id) if plan else None,
        plan_name=str(plan) if plan else None,
        flows=[
            _status(
                topic,
                # A topic may have come since.
                wanted.get(topic.name, topic.rate_max_per_s),
                gates.get((topic.name, topic.source.name)) if topic.source else None,
                promised.get(topic.name),
                terms.rate_control_band if terms.rate_control else None,
                seen,
                waiting.get(topic.name),
            )
            for topic in topics
        ],
    )


def _status(
    topic: Topic,
    most: float,
    gate: Setting | None,
    promised: float | None,
    band: float | None,
    seen: Measured,
    waiting: Backlog | None,
) -> FlowStatus:
    approved = _rate(gate.in_force) if gate else None
    low = high = None
    if approved is not None and band is not None:
        low = min(approved, max(topic.rate_min_per_s, approved * (1 - band)))
        high = max(approved, min(most, approved * (1 + band)))
    return FlowStatus(
        flow=topic.name,
        broker=topic.source.name if topic.source else None,
        in_force_per_s=approved,
        burst=float(gate.in_force["burst"]) if gate and gate.in_force else None,
        controlled_per_s=_rate(gate.controlled) if gate else None,
        promised_per_s=promised,
        rate_min_per_s=topic.rate_min_per_s,
        rate_max_per_s=most,
        band_low_per_s=low,
        band_high_per_s=high,
        offered_per_s=seen.offered.get(topic.name),
        passed_per_s=seen.passed.get(topic.name),
        shed_per_s=seen.shed.get(topic.name),
        backlog=seen.backlog.get(topic.name),
        waiting=waiting,
    )


def _rate(value: Any) -> float | None:
    return None if value is None else float(value["rate_per_s"])
