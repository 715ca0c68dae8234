"""Read fits, corrections and bounds as people see them."""

from django.db.models import Count, Prefetch, Q, QuerySet

from apps.calibration.models import Coefficient, Correction, Fit, FitCase, LatencyBound
from apps.systems.models import System


def fit_rows(*, whole: bool = False) -> QuerySet[Fit]:
    """Return fits with counts of their coefficients; `whole` also with cases and coefficients."""
    rows = Fit.objects.select_related("system", "run", "decided_by").annotate(
        coefficient_count=Count(
            "cases__coefficients", filter=~Q(cases__coefficients__kind="idle"), distinct=True
        ),
        identified_count=Count(
            "cases__coefficients",
            filter=Q(cases__coefficients__identified=True) & ~Q(cases__coefficients__kind="idle"),
            distinct=True,
        ),
        applied_count=Count(
            "cases__coefficients", filter=Q(cases__coefficients__applied=True), distinct=True
        ),
    )
    if not whole:
        return rows
    cases = FitCase.objects.prefetch_related(
        Prefetch("coefficients", Coefficient.objects.order_by("id"))
    )
    return rows.prefetch_related(Prefetch("cases", cases))


def corrections_of(system: System) -> QuerySet[Correction]:
    """Return the error corrections of every broker that measured a load."""
    return Correction.objects.filter(broker__system=system).select_related("broker")


def bounds_of(system: System) -> QuerySet[LatencyBound]:
    """Return the latency bounds of the reliable topics whose acknowledgements were measured."""
    return LatencyBound.objects.filter(topic__system=system).select_related("topic")
