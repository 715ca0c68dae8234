"""Work out which objectives burn their error budgets, or have spent them."""

from collections.abc import Iterator
from datetime import datetime

from apps.inbox.domain.items import Cause, ItemKind
from apps.pipeline.domain.error_budget import Severity
from apps.pipeline.models import ObjectiveTerm

BURNING = {
    Severity.PAGE: (
        ItemKind.SLO_BURNS_FAST,
        "burns its budget fast",
        "At this rate the budget is spent long before its window ends: somebody must look now.",
    ),
    Severity.TICKET: (
        ItemKind.SLO_BURNS,
        "burns its budget",
        "At this rate the budget does not last for its window: somebody must look within days.",
    ),
}


def of_objectives(now: datetime) -> Iterator[Cause]:
    """Yield objectives whose alerts go on, and those whose budget is spent."""
    rows = ObjectiveTerm.objects.exclude(alert="", spent_s=None).select_related("slo__system")
    for term in rows.order_by("slo_id"):
        if term.alert:
            severity = Severity(term.alert)
            kind, heading, detail = BURNING[severity]
            yield _cause(kind, term, heading, detail, now, waits=severity is Severity.PAGE)
        if term.spent_s is not None:
            heading, detail = "has spent its budget", "More minutes were missed than it allows."
            yield _cause(ItemKind.BUDGET_SPENT, term, heading, detail, now)


def _cause(
    kind: ItemKind,
    term: ObjectiveTerm,
    heading: str,
    detail: str,
    now: datetime,
    *,
    waits: bool = False,
) -> Cause:
    slo = term.slo
    return Cause(
        kind=kind,
        about=str(slo.public_id),
        title=f"{slo.name} of {term.topic} {heading}",
        detail=detail,
        page=f"/systems/{slo.system.public_id}/service-levels?open={slo.public_id}",
        since=now,
        waits=waits,
        system=slo.system_id,
    )
