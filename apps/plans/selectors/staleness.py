"""Detect whether the model has moved since the plan was made, and what moved.

A plan goes stale in the table when a command or the coordinator touches it. Until then every read
works it out, so that nobody is ever shown a plan as good that no longer is.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, Q, QuerySet, Value, When

from apps.audit.models import AuditEntry
from apps.common.formatting import counted, percent
from apps.demand.selectors.moved import estimates_in_use, moved_between
from apps.plans.models import UNSETTLED_NAMES, Plan
from apps.policies.domain.terms import Terms
from apps.runs.models import Run
from apps.runs.selectors import computations
from apps.systems.selectors import kinds_of_the_model
from weir.lifecycle.plans import UNSETTLED, PlanState

MOVED = Q(state__in=UNSETTLED_NAMES) & ~Q(model_version=F("system__model_version"))
EDITS = {
    **{"create": "added", "update": "changed", "delete": "deleted"},
    # An import of interests has one entry for all subscribers that it changed.
    "import": "carried out",
}
OF_THE_MODEL = Q(object_kind="interest_import", action="import")
SHOWN = 3


def with_state_now(plans: QuerySet[Plan]) -> QuerySet[Plan]:
    """Annotate `state_now`, so that a filter by state agrees with what is shown."""
    return plans.annotate(
        state_now=Case(When(MOVED, then=Value(PlanState.STALE.value)), default=F("state"))
    )


def has_moved(plan: Plan) -> bool:
    """Return whether the model is no longer the one that this unsettled plan was computed on."""
    return PlanState(plan.state) in UNSETTLED and plan.system.model_version != plan.model_version


def state_now(plan: Plan) -> PlanState:
    """Return the state that holds at this moment, whatever the row still says."""
    return PlanState.STALE if has_moved(plan) else PlanState(plan.state)


def changed_at(plan: Plan) -> datetime:
    """Return when what is shown of the plan was changed last; `version_at` was read with it."""
    version_at: datetime | None = getattr(plan, "version_at")  # noqa: B009
    times = [plan.updated_at, version_at or plan.updated_at]
    if plan.execution is not None:
        times.append(plan.execution.updated_at)
    if has_moved(plan):
        times.append(plan.system.updated_at)
    return max(times)


def changed_since(moment: datetime) -> Q:
    """Return the condition for plans whose `changed_at` is not before the moment."""
    return (
        Q(updated_at__gte=moment)
        | Q(version_at__gte=moment)
        | Q(execution__updated_at__gte=moment)
        | MOVED & Q(system__updated_at__gte=moment)
    )


def moved_because(plan: Plan) -> str:
    """Return a sentence that names what changed since the plan's model version."""
    return moved_sentences([plan])[plan.pk]


def moved_sentences(plans: Iterable[Plan]) -> dict[int, str]:
    """Return the sentence for each of these plans that has moved; two queries for all of them."""
    moved = [plan for plan in plans if has_moved(plan)]
    if not moved:
        return {}
    edits: dict[UUID | None, list[tuple[int, int]]] = defaultdict(list)
    """System -> model version and id of each entry that changed its model, oldest first."""
    for system, version, entry in (
        AuditEntry.objects.filter(
            # Entries of other kinds carry the version, too, and changed nothing of the model.
            OF_THE_MODEL | Q(object_kind__in=kinds_of_the_model()),
            system_id__in={plan.system.public_id for plan in moved},
            model_version__gt=min(plan.model_version for plan in moved),
            action__in=list(EDITS),
        )
        .order_by("id")
        .values_list("system_id", "model_version", "id")
    ):
        edits[system].append((version or 0, entry))
    since = {
        plan.pk: [
            entry for version, entry in edits[plan.system.public_id] if version > plan.model_version
        ]
        for plan in moved
    }
    # What an entry says may be large, and there may be a hundred thousand: only few are read.
    shown = AuditEntry.objects.in_bulk({e for entries in since.values() for e in entries[:SHOWN]})
    return {
        plan.pk: _sentence(plan, [shown[e] for e in since[plan.pk][:SHOWN]], len(since[plan.pk]))
        for plan in moved
    }


def demand_moved(plans: Sequence[Plan], terms: Mapping[int, Terms]) -> dict[int, str]:
    """Return a sentence for each of these unsettled plans since which more of the demand has moved
    than the terms of its system allow; three queries at most for all of them.

    A new estimate within the band makes no plan stale: demand moves all the time.
    """
    baselines = {one.kind for one in computations().values() if one.baseline}
    some = [
        plan
        for plan in plans
        if plan.kind in baselines and plan.run_id and PlanState(plan.state) in UNSETTLED
    ]
    if not some:
        return {}
    runs = Run.objects.filter(pk__in={plan.run_id for plan in some})
    before = dict(runs.values_list("pk", "snapshot__demand"))
    now = estimates_in_use(plan.system_id for plan in some)
    sentences = {}
    for plan in some:
        estimate = now.get(plan.system_id)
        after = estimate.pk if estimate else None
        moved = moved_between(plan.system.edition, before.get(plan.run_id or 0), after)
        band = terms[plan.pk].demand_band
        if moved.share > band:
            sentences[plan.pk] = (
                f"{percent(moved.share)} of the demand has moved since it was planned, more than "
                f"the {percent(band)} that the policy allows: {moved.example}. {_next_move(plan)}"
            )
    return sentences


def _sentence(plan: Plan, first: list[AuditEntry], count: int) -> str:
    moved = (
        f"The model is at version {plan.system.model_version}, "
        f"the plan was made for version {plan.model_version}"
    )
    if not first:
        return f"{moved}. {_next_move(plan)}"
    shown = [_edit(entry) for entry in first]
    if count > len(first):
        shown.append(counted(count - len(first), "more change"))
    listed = shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
    return f"{moved}: {listed}. {_next_move(plan)}"


def _next_move(plan: Plan) -> str:
    """Return what leads to a plan that fits again."""
    computation = computations().get(plan.kind)
    return f"Make a new plan of the {plan.kind}." if computation is None else computation.plan_again


def _edit(entry: AuditEntry) -> str:
    kind = entry.object_kind.replace("_", " ")
    fields = ""
    if entry.action == "update" and entry.after:
        fields = f" ({', '.join(sorted(entry.after)[:SHOWN])})"
    return f"{entry.actor_name} {EDITS[entry.action]} {kind} {entry.object_name}{fields}"
