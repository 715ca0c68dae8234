"""Control the rates of the running systems once a second (Gryphon paper, section IV.C).

For every system whose policy asks for it and that has carried out a plan of an allocation: what
agents measure gives the congestion bits, `weir.rate_controller` one step, and the new
rates are asked for as `controlled` values of the settings. The approved rates stay what is in
force; they come back when an execution begins, when nobody measures, when the policy
says no, and whenever what is approved changes ("snapping").

A resource is congested when the measured rates and consumers, at the model's costs, fill it, or
when the outbox of a link grows. CPU seconds of brokers are not used: they count cores of a
machine that the model does not know.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from apps.allocations.domain.proposal import LIMIT, RATE
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.allocations.selectors.problems import routed_problem
from apps.common.locks import lock_try
from apps.executions.models import ACTIVE_NAMES, Execution, Setting
from apps.executions.services.settings import settings_control
from apps.policies.domain.terms import Terms
from apps.policies.domain.windows import window_state
from apps.policies.selectors import stop_now, terms_for_systems
from apps.systems.models import System
from apps.telemetry.selectors.measured import Measured, measured
from apps.topology.models import Link
from weir.actions import SettingKey
from weir.rate_controller import Params, Place, RateController

logger = logging.getLogger(__name__)

EVERY_S = 1.0
FULL = 1.02
"""Measurements may err: an allocation fills its bottlenecks, so this much above capacity is not
congestion."""

LOCK = "weirrate"
"""The key of the advisory lock: one coordinator of many takes the steps, two would move rates twice
as fast."""

IDLE = 0.9
"""A flow that passes less than this share of its rate does not use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Hold a prepared controller, and what it was prepared for."""

    prepared_for: tuple[Any, ...]
    controller: RateController
    links: Mapping[frozenset[str], str]
    """The two ends of a link -> its name in the model."""


_controls: dict[int, Control] = {}
_stepped: dict[int, float] = {}


def rates_control() -> int:
    """Run one tick of the coordinator. Returns how many systems took a step."""
    if stop_now() is not None:
        # Rates stay where they are: restoring the approved ones would be a change, too.
        return 0
    enforced = Setting.objects.filter(kind=RATE, in_force__isnull=False).values("system")
    systems = list(System.objects.filter(pk__in=enforced))
    terms = terms_for_systems(system.pk for system in systems)
    if any(row.rate_control for row in terms.values()) and not lock_try(LOCK):
        return 0
    count = 0
    for system in systems:
        # Events may wake the loop more often than every second; steps have their own pace.
        if time.monotonic() - _stepped.get(system.pk, -EVERY_S) < 0.9 * EVERY_S:
            continue
        try:
            _stepped[system.pk] = time.monotonic()
            count += system_control(system, terms[system.pk])
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # An error in one system must not stop the others.
            logger.exception("the rates of %s cannot be controlled", system)
    return count


def system_control(system: System, terms: Terms) -> bool:
    """Take one step in one system; return False where its approved rates hold instead."""
    if not window_state(terms, timezone.now()).open:
        # A window forbids changes: rates stay where they are, even where they differ from the
        # approved ones. Restoring those would be a change, too.
        return False
    rows = list(Setting.objects.filter(system=system, in_force__isnull=False))
    gates = {(row.kind, row.target_key): row for row in rows if row.kind == RATE}
    seen = measured(system) if terms.rate_control else None
    busy = Execution.objects.filter(system=system, state__in=ACTIVE_NAMES).exists()
    control = None
    if seen is not None and seen.brokers and not busy:
        control = _prepared(system, terms, rows)
    if control is None or seen is None:
        _controls.pop(system.pk, None)
        _snap(system, gates)
        return False
    if _controls.get(system.pk) is not control:
        # After a change of allocation, band or process, begin at the approved rates.
        _controls[system.pk] = control
        _snap(system, gates)
        return False
    approved = {key: row.in_force for key, row in gates.items()}
    settings_control(system=system, values=_next(control, gates, seen), approved=approved)
    return True


def _snap(system: System, gates: Mapping[SettingKey, Setting]) -> None:
    if any(row.controlled is not None for row in gates.values()):
        settings_control(system=system, values=dict.fromkeys(gates), approved={})


def _next(
    control: Control, gates: Mapping[SettingKey, Setting], seen: Measured
) -> dict[SettingKey, Mapping[str, float] | None]:
    """Return the rates to request during the next second."""
    flows = {row.target["flow"]: key for key, row in gates.items()}
    now = {
        **control.controller.approved,
        **{
            flow: _rate(gates[key].controlled or gates[key].in_force) for flow, key in flows.items()
        },
    }
    silent = {f for f, key in flows.items() if gates[key].target["broker"] not in seen.brokers}
    # For silent brokers assume the rates that they may send.
    passed = {flow: now[flow] if flow in silent else seen.passed.get(flow, 0.0) for flow in now}
    controller = control.controller
    congested = set(controller.congested(passed, seen.admitted))
    for ends in seen.growing:
        name = control.links.get(frozenset(ends))
        if name is not None:
            congested.add(Place("link", name))
    idle = silent | {flow for flow, rate in now.items() if passed[flow] < IDLE * rate}
    rates = controller.step(now, congested=congested, idle=idle | (now.keys() - flows.keys()))
    return {
        key: None
        if rates[flow] == controller.approved[flow]
        else {"rate_per_s": rates[flow], "burst": float(gates[key].in_force["burst"])}
        for flow, key in flows.items()
        if flow in rates
    }


def _prepared(system: System, terms: Terms, rows: list[Setting]) -> Control | None:
    """Return the controller for what is in force now; None where no allocation is."""
    plan = latest_plan(system)
    if plan is None:
        return None
    approved = {row.target["flow"]: _rate(row.in_force) for row in rows if row.kind == RATE}
    limits = {row.target["class"]: int(row.in_force["limit"]) for row in rows if row.kind == LIMIT}
    prepared_for = (
        plan.pk,
        system.model_version,
        terms.rate_control_band,
        tuple(sorted(approved.items())),
        tuple(sorted(limits.items())),
    )
    known = _controls.get(system.pk)
    if known is not None and known.prepared_for == prepared_for:
        return known
    allocation = latest_allocation(plan)
    if allocation is None:
        return None
    rates = dict(allocation.rates.values_list("flow", "rate_per_s"))
    ends = Link.objects.filter(system=system).values_list("source__name", "target__name", "name")
    return Control(
        prepared_for=prepared_for,
        controller=RateController(
            routed_problem(allocation.run),
            rates={**rates, **{flow: rate for flow, rate in approved.items() if flow in rates}},
            populations=limits,
            params=Params(band=terms.rate_control_band, full=FULL),
        ),
        links={frozenset((a, b)): name for a, b, name in ends},
    )


def _rate(value: Mapping[str, Any]) -> float:
    return float(value["rate_per_s"])
