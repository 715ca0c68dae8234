"""Compute how full the brokers are at every stop of a plan, by the model, for the map of a plan.

The numbers are those of the check of intermediate states, so that the picture and the check agree.
"""

import math
from dataclasses import dataclass, field

from apps.executions.selectors import in_force
from apps.executions.selectors.flow_map import without_moves
from apps.plans.models import Plan
from apps.plans.selectors.intermediate import NoModel, broker_shares, model_of
from apps.plans.selectors.staleness import has_moved, moved_because
from weir import actions
from weir.actions import InForce
from weir.errors import InvalidProblem
from weir.model.plan import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Hold load over capacity of the fullest resource of one broker; None: it has no capacity."""

    broker: str
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Hold one list before the first step and one after each; none where they are not known."""

    stops: list[list[Level]] = field(default_factory=list)
    unknown_because: str = ""


def levels_of(plan: Plan) -> Levels:
    """Return the levels at every stop, by the model as it is and the limits in force."""
    if has_moved(plan):
        return Levels(unknown_because=moved_because(plan))
    steps = without_moves(plan.content.steps)
    if not any(step.actions for step in steps):
        return Levels(unknown_because="The plan changes the map alone, which loads no broker.")
    state = start_of(in_force(plan.system), steps)
    if state is None:
        return Levels(unknown_because="Something else is in force than the plan starts from.")
    try:
        problem = model_of(plan.system)
    except NoModel as error:
        return Levels(unknown_because=str(error))
    states = [state]
    for step in steps:
        states.append(actions.replay(states[-1], [step]))
    return Levels(
        stops=[
            [
                Level(broker=name, share=share if math.isfinite(share) else None)
                for name, share in sorted(broker_shares(problem, each).items())
            ]
            for each in states
        ]
    )


def start_of(found: InForce, steps: tuple[Step, ...]) -> InForce | None:
    """Return what the plan starts from, whichever of its steps are in force already; None: not
    known."""
    for done in range(len(steps) + 1):
        try:
            start = actions.replay(found, actions.inverse_steps(steps[:done]))
            if actions.replay(start, steps[:done]) == found:
                actions.replay(start, steps)
                return start
        except InvalidProblem:
            continue
    return None
