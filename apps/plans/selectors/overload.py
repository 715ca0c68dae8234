"""Say where a plan, or rolling an executed one back, would load more than a capacity and than
today.

The sentence is that of the check of intermediate states; it is empty where nothing is overloaded,
and where the model or what is in force cannot tell.
"""

from collections.abc import Sequence

from apps.executions.selectors import in_force
from apps.plans.models import Plan
from apps.plans.selectors.intermediate import NoModel, heaviest_state
from apps.systems.models import System
from weir import actions
from weir.actions import InForce
from weir.errors import InvalidProblem
from weir.model.plan import Step


def plan_overload(plan: Plan) -> str:
    """Say where the plan, carried out now, would overload the system."""
    return _sentence(plan.system, plan.content.steps, in_force(plan.system))


def roll_back_overload(plan: Plan) -> str:
    """Say where rolling back the executed plan would overload the system."""
    return _sentence(plan.system, actions.inverse_steps(plan.content.steps), in_force(plan.system))


def _sentence(system: System, steps: Sequence[Step], found: InForce) -> str:
    try:
        worst = heaviest_state(system, steps, found)
    except (InvalidProblem, NoModel):
        return ""
    return worst.sentence if worst is not None and worst.over else ""
