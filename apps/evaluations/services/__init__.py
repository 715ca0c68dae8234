"""Everything that changes evaluations: asking, what their runs answer, plans made of candidates."""

from apps.evaluations.services.propose import candidate_plan, plan_again_from_here
from apps.evaluations.services.repair import repair_plan
from apps.evaluations.services.request import (
    evaluation_cancel,
    evaluation_request,
    evaluation_rerun,
)
from apps.evaluations.services.solve import evaluation_solve, evaluation_store, evaluation_told

__all__ = [
    "candidate_plan",
    "evaluation_cancel",
    "evaluation_request",
    "evaluation_rerun",
    "evaluation_solve",
    "evaluation_store",
    "evaluation_told",
    "plan_again_from_here",
    "repair_plan",
]
