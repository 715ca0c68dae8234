"""Count what has happened to a plan: whoever commands it names how much of that they have seen.

A command in the history that changes nothing about the plan, such as a dry run or news of a change
elsewhere, does not count: nobody decides otherwise for it. Nor does going stale: every read shows
it as soon as the model is edited, the row is written some time later, and whoever has not seen it
is refused with the reason.
"""

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.plans.models import Plan, PlanEvent
from apps.plans.selectors.approvals import ACCEPT_OVERLOAD, ROLL_BACK
from weir.lifecycle.plans import PlanCommand

CREATE = "create"
UPDATE = "update"
EXPIRE = "expire"
LOSE = "lose"
COUNTED = sorted(
    {*(command.value for command in PlanCommand if command != PlanCommand.GO_STALE)}
    | {CREATE, UPDATE, ACCEPT_OVERLOAD, ROLL_BACK, EXPIRE, LOSE}
)
"""The commands of events by which a plan is no longer what somebody has read."""


def plan_version(plan: Plan) -> int:
    """Return the version of a plan. Under its lock, and that of its system, it stays so."""
    return plan.events.filter(command__in=COUNTED).count()


def with_version(plans: QuerySet[Plan]) -> QuerySet[Plan]:
    """Annotate `version` and `version_at`, the time of the last event that counts: read with the
    row, so that what is read after it is as new or newer."""
    events = PlanEvent.objects.filter(plan=OuterRef("pk"), command__in=COUNTED).order_by()
    counts = events.values("plan").annotate(count=Count("pk")).values("count")
    last = events.values("plan").annotate(last=Max("at")).values("last")
    return plans.annotate(version=Coalesce(Subquery(counts), 0), version_at=Subquery(last))
