"""IPITT: the integer program of the paper, solved for more and more steps until there is a plan.

Assumptions: slides only (a problem that prices `move` or `exchange` is planned without them, and
nothing is called optimal then); brokers that come are appended first, those that go detached last,
each at the neighbour that `reduction` chooses. Action set N holds every slide: the steps are then
proven least, and so are the actions once no longer plan can have fewer. Sets A and E prove nothing
by themselves.

What follows when, by objective:

- steps: the first number of steps with a plan, then the cheapest of so many steps. The paper's.
- actions: the same, then one step more and again, as long as more steps could save an action and
  `first_length_only` does not ask for the paper's end.

Cost: the program grows with slides x steps; `horizon` keeps it small while there are few steps.

References
----------
P. Salehi, K. Zhang, H.-A. Jacobsen: Incremental Topology Transformation for Publish/Subscribe
Systems Using Integer Programming. ICDCS 2017. Algorithm 1, appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.errors import InvalidProblem, NoPlan
from weir.model.transformation import TransformationPlan
from weir.planners import PlanProgress
from weir.planners.ipitt.run import Run
from weir.planners.ipitt.trial import Ended
from weir.plugins import about, check_fields
from weir.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation

NAME = "ipitt"
TITLE = "Integer program (IPITT)"
SUMMARY = "The paper's integer program over slides; proves the fewest steps with action set N."

ACTION_SETS = ("N", "A", "E")
SOLVERS = ("highs", "cp_sat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Choose the slides, the solver and the limits."""

    action_set: str = field(
        default="N",
        metadata=about(
            help="N: every slide; A: among the brokers on the goal links' paths; E: path by path"
        ),
    )
    solver: str = field(default="cp_sat", metadata=about(help="cp_sat or highs"))
    first_length_only: bool = field(
        default=False,
        metadata=about(help="End at the fewest steps that have a plan, as the paper does"),
    )
    max_steps: int = field(
        default=200, metadata=about(help="Longest plan tried", unit="steps", min=1, max=10_000)
    )
    max_slides: int = field(
        default=10_000_000,
        metadata=about(help="Largest action set that is written down", unit="slides", min=1),
    )
    max_terms: int = field(
        default=3_000_000,
        metadata=about(help="Largest program handed to the solver", unit="coefficients", min=1),
    )

    def __post_init__(self) -> None:
        """Check every field; raise InvalidProblem that names the field."""
        check_fields(self)
        for name, known in (("action_set", ACTION_SETS), ("solver", SOLVERS)):
            value = getattr(self, name)
            if value not in known:
                raise InvalidProblem(name, f"{shown(value)} is none of {', '.join(known)}")


def plan(
    problem: Transformation,
    params: Params,
    *,
    objective: Objective,
    stop: Callable[[PlanProgress], bool],
    seed: int,
    on_progress: Callable[[PlanProgress], None] | None = None,
    start: Steps | None = None,
) -> TransformationPlan:
    """Plan as `weir.planners.Planner` describes, with an integer program per number of steps."""
    run = Run(problem, params, objective=objective, seed=seed, start=start)

    def progress() -> PlanProgress:
        return PlanProgress(
            round=run.steps_tried,
            actions=None if run.best is None else sum(map(len, run.best)),
            steps=None if run.best is None else len(run.best),
            lower_bound_actions=run.bound_actions,
            lower_bound_steps=run.bound_steps,
        )

    def ask() -> None:
        if stop(progress()):
            raise Ended

    def tell() -> None:
        if on_progress is not None:
            on_progress(progress())

    is_stopped = False
    try:
        run.search(ask=ask, tell=tell)
    except Ended:
        is_stopped = True
    if run.is_infeasible:
        return TransformationPlan(
            status="infeasible",
            planner=NAME,
            lower_bound_actions=run.bound_actions,
            lower_bound_steps=run.bound_steps,
            reason="no order of slides leads to the goal around what is frozen; thaw some of it",
        )
    if run.best is None:
        raise NoPlan(
            f"{run.why_none(is_stopped)}; nothing proves that there is none: "
            "give more time, or plan with slides"
        )
    return TransformationPlan(
        status="optimal" if run.is_proven else "time_limit" if is_stopped else "solved",
        steps=run.best,
        lower_bound_actions=run.bound_actions,
        lower_bound_steps=run.bound_steps,
        lower_bound_cost=run.bound_cost,
        cost=run.best_cost,
        planner=NAME,
    )
