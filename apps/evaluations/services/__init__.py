"""Change evaluations: ask for one, make plans of candidates."""

from typing import Any

from apps.accounts.models import User
from apps.evaluations.models import Evaluation
from apps.evaluations.services.computation import KIND
from apps.evaluations.services.propose import candidate_plan, plan_again_from_here
from apps.evaluations.services.repair import repair_plan
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = ["candidate_plan", "evaluation_request", "plan_again_from_here", "repair_plan"]


def evaluation_request(*, system: System, actor: User | None, **asked: Any) -> Evaluation:
    """Freeze overlay and traffic and open a run that compares candidates; `asked` as
    `computation.freeze` takes it."""
    run = computation_start(KIND, system=system, actor=actor, **asked)
    return Evaluation.objects.get(run=run)
