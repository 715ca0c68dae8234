"""Every flow of a system at a glance: approved, controlled, measured, promised."""

from dataclasses import dataclass
from typing import Any

from apps.allocations.domain.proposal import RATE
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.catalog.models import Topic
from apps.executions.models import Setting
from apps.plans.policies.selectors import terms_for
from apps.systems.models import System
from apps.telemetry.selectors.measured import Measured, measured


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    """One flow; rates in msg/s, None where there is none or nobody measures."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFlows:
    """All flows, and what stands behind their rates."""

    rate_control: bool
    plan: str | None
    """Public id of the plan carried out last."""
    plan_name: str | None
    flows: list[FlowStatus]


def flow_status(system: System) -> SystemFlows:
    """A handful of queries, however many flows."""
    terms = terms_for(system)
    plan = latest_plan(system)
    allocation = latest_allocation(plan) if plan else None
    promised = dict(allocation.rates.values_list("flow", "rate_per_s")) if allocation else {}
    gates = {
        (row.target["flow"], row.target["broker"]): row
        for row in Setting.objects.filter(system=system, kind=RATE)
    }
    seen = measured(system)
    topics = Topic.objects.filter(system=system).select_related("source").order_by("name")
    return SystemFlows(
        rate_control=terms.rate_control,
        plan=str(plan.public_id) if plan else None,
        plan_name=str(plan) if plan else None,
        flows=[
            _status(
                topic,
                gates.get((topic.name, topic.source.name)) if topic.source else None,
                promised.get(topic.name),
                terms.rate_control_band if terms.rate_control else None,
                seen,
            )
            for topic in topics
        ],
    )


def _status(
    topic: Topic,
    gate: Setting | None,
    promised: float | None,
    band: float | None,
    seen: Measured,
) -> FlowStatus:
    approved = _rate(gate.in_force) if gate else None
    low = high = None
    if approved is not None and band is not None:
        low = min(approved, max(topic.rate_min_per_s, approved * (1 - band)))
        high = max(approved, min(topic.rate_max_per_s, approved * (1 + band)))
    return FlowStatus(
        flow=topic.name,
        broker=topic.source.name if topic.source else None,
        in_force_per_s=approved,
        burst=float(gate.in_force["burst"]) if gate and gate.in_force else None,
        controlled_per_s=_rate(gate.controlled) if gate else None,
        promised_per_s=promised,
        rate_min_per_s=topic.rate_min_per_s,
        rate_max_per_s=topic.rate_max_per_s,
        band_low_per_s=low,
        band_high_per_s=high,
        offered_per_s=seen.offered.get(topic.name),
        passed_per_s=seen.passed.get(topic.name),
        shed_per_s=seen.shed.get(topic.name),
        backlog=seen.backlog.get(topic.name),
    )


def _rate(value: Any) -> float | None:
    return None if value is None else float(value["rate_per_s"])
