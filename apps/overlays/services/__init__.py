"""Everything that changes evaluations: asking, what their runs answer, plans made of candidates."""

from apps.overlays.services.propose import candidate_plan, plan_again_from_here
from apps.overlays.services.repair import repair_plan
from apps.overlays.services.request import (
    evaluation_cancel,
    evaluation_request,
    evaluation_rerun,
)
from apps.overlays.services.solve import evaluation_solve, evaluation_store, evaluation_told

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
