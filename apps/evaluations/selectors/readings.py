"""Read evaluations and candidates as lists show them, and what a caller may do with them now."""

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.evaluations.models import Candidate, CandidateKind, Evaluation
from apps.plans.models import Plan
from apps.plans.selectors.staleness import with_state_now
from weir.lifecycle.plans import PlanState

SOURCE = "overlay_candidate"
"""The `source.kind` of plans that are made of candidates."""

LARGE = ("edges", "links", "brokers", "steps", "moments")


def evaluation_rows() -> QuerySet[Evaluation]:
    """Return the evaluations with all that their representation shows."""
    mine = Candidate.objects.filter(evaluation=OuterRef("pk"))
    chosen = mine.filter(chosen=True)
    counted = mine.order_by().values("evaluation").annotate(n=Count("pk")).values("n")
    return (
        Evaluation.objects.select_related(
            "system", "overlay", "author", "continues", "run__snapshot", "run__system"
        )
        .defer("run__snapshot__payload", "edges", "subscribers")
        .annotate(
            candidates_count=Coalesce(Subquery(counted), 0),
            chosen_id=Subquery(chosen.values("public_id")[:1]),
            chosen_name=Subquery(chosen.values("name")[:1]),
        )
    )


def candidate_rows() -> QuerySet[Candidate]:
    """Return the candidates of a comparison, without their trees."""
    return candidates_in_full().defer(*LARGE, "evaluation__edges")


def candidates_in_full() -> QuerySet[Candidate]:
    """Return the candidates with all that a detail shows.

    Annotated: `last_begun`, the state of the newest plan of it that was begun.
    """
    begun = (
        Plan.objects.filter(source_kind=SOURCE, source_id=OuterRef("public_id"))
        .exclude(execution=None)
        .order_by("-id")
    )
    return (
        Candidate.objects.select_related("goal", "evaluation__system", "evaluation__run__snapshot")
        .defer("evaluation__run__snapshot__payload", "evaluation__subscribers")
        .annotate(last_begun=Subquery(begun.values("state")[:1]))
    )


def is_current(evaluation: Evaluation) -> bool:
    """Return whether the model is the one that the evaluation saw: its candidates may become
    plans."""
    return evaluation.run.snapshot.model_version == evaluation.system.model_version


def candidate_plans(candidate: Candidate) -> list[Plan]:
    """Return the plans that were made of the candidate, newest first, as they stand now."""
    rows = list(
        with_state_now(
            Plan.objects.filter(source_kind=SOURCE, source_id=candidate.public_id)
            .defer("document")
            .order_by("-id")
        )
    )
    for row in rows:
        row.state = row.state_now  # type: ignore[attr-defined]
    return rows


def candidate_commands(candidate: Candidate) -> list[str]:
    """Return `plan` for the evaluated model, and `plan_again` after a plan of it was
    interrupted."""
    if candidate.kind == CandidateKind.TODAY or not candidate.steps_count:
        return []
    commands = ["plan"] if is_current(candidate.evaluation) else []
    broken_off = getattr(candidate, "last_begun", None) == PlanState.STALE
    return [*commands, *(["plan_again"] if broken_off else [])]
