"""Read how fast error budgets burn, against the rates at which operators are called."""

from collections.abc import Iterable

from apps.catalog.models import Slo
from apps.common.formatting import figure, percent
from apps.pipeline.domain.error_budget import Burn, Standing
from apps.pipeline.selectors.objectives import slo_readings
from apps.runs.selectors import Reading
from apps.systems.models import System


def budget_burn(system: System) -> Reading:
    """Return the largest burn rate of any objective, over both stretches of an alert, as a share of
    the rate at which that alert fires."""
    slos = list(Slo.objects.filter(system=system).select_related("topic").order_by("name"))
    if not slos:
        return Reading(value=None, detail="The system has no service-level objective.")
    fastest: tuple[float, Slo, Burn] | None = None
    measured = 0
    for reading in slo_readings(slos):
        held = reading.compliance
        measured += held.standing != Standing.NOT_MEASURED
        share, burn = _fastest(held.burns)
        if burn is not None and (fastest is None or share > fastest[0]):
            fastest = share, reading.slo, burn
    if not measured:
        return Reading(value=None, detail="None of the objectives is measured now.")
    if fastest is None:
        return Reading(value=None, detail="No budget is so small that an alert of it can fire.")
    share, slo, burn = fastest
    if share == 0.0:
        return Reading(value=0.0, detail=f"No budget of {measured} measured objectives burns.")
    return Reading(value=share, detail=_sentence(share, slo, burn))


def alerting(system: System) -> dict[str, str]:
    """Return the objectives whose budgets burn at the rate of an alert now, as sentences by the
    objective's id."""
    slos = Slo.objects.filter(system=system).select_related("topic").order_by("name")
    found: dict[str, str] = {}
    for reading in slo_readings(list(slos)):
        share, burn = _fastest(reading.compliance.burns)
        if burn is not None and share >= 1.0:
            found[str(reading.slo.public_id)] = _sentence(share, reading.slo, burn)
    return found


def _fastest(burns: Iterable[Burn]) -> tuple[float, Burn | None]:
    """Return the largest burn rate over both stretches of an alert, as a share of the rate at which
    that alert fires, and whose it is; None: none of them can fire."""
    shares = [
        (min(burn.long_burn, burn.short_burn) / burn.threshold, burn)
        for burn in burns
        if burn.can_fire
    ]
    return max(shares, key=lambda share: share[0], default=(0.0, None))


def _sentence(share: float, slo: Slo, burn: Burn) -> str:
    return (
        f"{slo.name} of {slo.topic.name} burns its budget at {figure(burn.long_burn)} over "
        f"{burn.long_minutes} min and at {figure(burn.short_burn)} over {burn.short_minutes} min, "
        f"{percent(share, 1)} of the {burn.threshold:g} at which an alert fires."
    )
