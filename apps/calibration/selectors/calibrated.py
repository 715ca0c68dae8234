"""Read the model of a system as snapshots see it: demand measured, costs corrected, rates bounded,
where that is on."""

from typing import Any

from apps.calibration.models import CalibrationSettings, Correction, LatencyBound
from apps.demand.selectors.used import demanded_problem, key_in_use
from apps.systems.models import System

SWITCHES = ("correct_errors", "bound_latency")


def settings_of(system: System) -> CalibrationSettings:
    """Return the system's settings; unsaved defaults where nobody has set any."""
    found = CalibrationSettings.objects.filter(system=system).first()
    # Nobody needs a row before somebody edits one; its id is the system's, as in `settings_for`.
    return found or CalibrationSettings(
        system=system, public_id=system.public_id, updated_at=system.created_at
    )


def calibration_stamp(system: System) -> tuple[object, ...]:
    """Return a stamp that is equal as long as `calibrated_problem` of one model version cannot
    differ, in one to three queries; an empty one where it is `system_problem`."""
    of_calibration = [f"calibration__{name}" for name in ("version", *SWITCHES)]
    row = System.objects.filter(pk=system.pk).values_list(key_in_use(), *of_calibration)
    estimate, version, correct_errors, bound_latency = row.get()
    demand = () if estimate is None else (estimate,)
    if not (correct_errors or bound_latency):
        return demand
    factors = Correction.objects.filter(broker__system=system).exclude(factor=1.0)
    bounds = LatencyBound.objects.filter(topic__system=system, bound_per_s__isnull=False)
    return (
        *demand,
        version,
        tuple(factors.order_by("pk").values_list("pk", "factor")) if correct_errors else (),
        tuple(bounds.order_by("pk").values_list("pk", "bound_per_s")) if bound_latency else (),
    )


def calibrated_problem(system: System) -> dict[str, Any]:
    """Return `demanded_problem` with error corrections and latency bounds, as the settings say.

    A factor multiplies every cost of its resource at its broker, so that loads stay in units of the
    capacity. A bound lowers `rate_max`, never below `rate_min`: what cannot be sent at all is
    for people to find, not for a snapshot to hide.
    """
    plain = demanded_problem(system)
    now = CalibrationSettings.objects.filter(system=system).first()
    if now is None:
        return plain
    if now.correct_errors:
        _correct(plain, system)
    if now.bound_latency:
        _bound(plain, system)
    return plain


def _correct(plain: dict[str, Any], system: System) -> None:
    rows = Correction.objects.filter(broker__system=system).exclude(factor=1.0)
    factors = {
        (broker, resource): factor
        for broker, resource, factor in rows.values_list("broker__name", "resource", "factor")
    }
    if not factors:
        return
    for flow in plain["flows"]:
        flow["node_costs"] = {
            node: _scaled(costs, node, factors) for node, costs in flow["node_costs"].items()
        }
    for row in plain["classes"]:
        row["costs"] = _scaled(row["costs"], row["node"], factors)


def _scaled(
    costs: dict[str, float], node: str, factors: dict[tuple[str, str], float]
) -> dict[str, float]:
    return {name: cost * factors.get((node, name), 1.0) for name, cost in costs.items()}


def _bound(plain: dict[str, Any], system: System) -> None:
    rows = LatencyBound.objects.filter(topic__system=system, bound_per_s__isnull=False)
    bounds = dict(rows.values_list("topic__name", "bound_per_s"))
    for flow in plain["flows"]:
        bound = bounds.get(flow["id"])
        if bound is not None:
            flow["rate_max"] = max(flow["rate_min"], min(flow["rate_max"], bound))
