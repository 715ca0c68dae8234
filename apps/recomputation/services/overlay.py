"""The overlay tree, evaluated again: only what is worth the way there becomes a plan."""

from apps.accounts.services import automatic_account
from apps.common.errors import Conflict
from apps.evaluations.models import Candidate, CandidateKind, Evaluation
from apps.evaluations.services import candidate_plan, evaluation_request
from apps.evaluations.services.request import DEFAULT_TIME_LIMIT_S
from apps.evaluations.services.request import KIND as KIND
from apps.plans.models import Plan
from apps.recomputation.models import Firing
from apps.runs.models import Run


def request(row: Firing) -> Run:
    """Open the run that compares candidates. Raises ApplicationError."""
    evaluation = evaluation_request(
        system=row.system,
        actor=automatic_account(row.account),
        methods=[{"name": row.method}] if row.method else None,
        time_limit_s=row.time_limit_s or DEFAULT_TIME_LIMIT_S,
        note=f"{row.cause}: {row.why}"[:2000],
    )
    return evaluation.run


def found(run: Run) -> Evaluation:
    """The evaluation that the run answered."""
    return Evaluation.objects.select_related("system", "run__snapshot").get(run=run)


def _best(evaluation: Evaluation) -> Candidate | None:
    return Candidate.objects.filter(evaluation=evaluation, chosen=True).first()


def told(evaluation: Evaluation) -> str:
    """What it recommends, in a sentence."""
    best = _best(evaluation)
    if best is None or best.kind == CandidateKind.TODAY:
        return f"{evaluation}: nothing is better than the overlay in force."
    return f"{evaluation}: {best.title}, net benefit {best.net_benefit or 0.0:,.0f}."


def planned(row: Firing, evaluation: Evaluation) -> Plan:
    """The plan of the best candidate. Raises Conflict where doing nothing is better."""
    best = _best(evaluation)
    if best is None or best.kind == CandidateKind.TODAY:
        raise Conflict("nothing_to_change", told(evaluation))
    benefit = best.net_benefit or 0.0
    if benefit <= row.least_benefit:
        raise Conflict(
            "nothing_to_change",
            f"{evaluation}: {best.title} has a net benefit of {benefit:,.0f} link messages; "
            f"{row.cause} asks for more than {row.least_benefit:,.0f}.",
        )
    return candidate_plan(
        candidate=best, actor=automatic_account(row.account), answerable=row.answerable
    )
