"""Read how fast error budgets burn, against the rates at which operators are called."""

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
        for burn in held.burns:
            share = min(burn.long_burn, burn.short_burn) / burn.threshold
            if burn.can_fire and (fastest is None or share > fastest[0]):
                fastest = share, reading.slo, burn
    if not measured:
        return Reading(value=None, detail="None of the objectives is measured now.")
    if fastest is None:
        return Reading(value=None, detail="No budget is so small that an alert of it can fire.")
    share, slo, burn = fastest
    if share == 0.0:
        return Reading(value=0.0, detail=f"No budget of {measured} measured objectives burns.")
    return Reading(
        value=share,
        detail=f"{slo.name} of {slo.topic.name} burns its budget at {figure(burn.long_burn)} over "
        f"{burn.long_minutes} min and at {figure(burn.short_burn)} over {burn.short_minutes} min, "
        f"{percent(share, 1)} of the {burn.threshold:g} at which an alert fires.",
    )
