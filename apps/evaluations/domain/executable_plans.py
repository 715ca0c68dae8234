"""Turn a plan for a goal into single actions that agents carry out, no broker in two of one
step."""

from dataclasses import replace

from apps.common.errors import Conflict
from apps.evaluations.domain import sentences
from apps.evaluations.domain.figures import Subscribers, disturbed, expanded
from weir.codec.transformation import transformation_from_dict, transformation_to_dict
from weir.errors import InvalidProblem
from weir.model.evaluation import EvaluationProblem
from weir.model.transformation import ActionCosts, Edge, Move, Options, Steps, Transformation
from weir.routing.benefit import held_messages, net_benefit, transformation_cost
from weir.routing.cost import routing
from weir.transformation.moves import neighbours
from weir.transformation.scheduling import pack
from weir.transformation.validation import check

COMPOSITES = frozenset({"move", "exchange"})


def transformation_of(problem: EvaluationProblem, goal: frozenset[Edge]) -> Transformation:
    """Check the problem and the goal against the options. Raises InvalidProblem."""
    plain = Transformation(
        brokers=tuple(sorted({*problem.today_brokers, *(b for pair in goal for b in pair)})),
        initial=problem.today,
        goal=goal,
        options=problem.options,
    )
    return transformation_from_dict(transformation_to_dict(plain))


def executable(problem: EvaluationProblem, goal: frozenset[Edge], steps: Steps) -> Steps:
    """Return the same plan in actions that agents carry out, no broker in two of one step.

    Composites become their shifts; these may pass over a place where the goal has a link. The
    independent validator checks the result before anybody sees it. Raises Conflict
    `not_executable`.
    """
    transformation = transformation_of(problem, goal)
    moves: list[Move] = [move for step in steps for move in step]
    composite = any(move.op in COMPOSITES for move in moves)
    options = replace(
        transformation.options,
        parallel="broker-disjoint",
        action_costs=ActionCosts(),
        move_goal_links=transformation.options.move_goal_links or composite,
    )
    plain = replace(transformation, options=options)
    try:
        if composite:
            moves = expanded(
                neighbours(transformation.initial, transformation.initial_brokers), moves
            )
        ready = (
            pack(plain, moves)
            if composite or transformation.options.parallel != "broker-disjoint"
            else steps
        )
        check(plain, ready)
    except InvalidProblem as error:
        raise Conflict(
            "not_executable",
            f"Agents cannot carry this plan out: {error}. "
            "Evaluate again without prices for move and exchange.",
        ) from error
    return ready


def tree_plan_of(
    *,
    overlay_name: str,
    goal_title: str,
    problem: EvaluationProblem,
    goal: frozenset[Edge],
    steps: Steps,
    bounds: tuple[int, int],
    planner_name: str,
    detail: str,
    subscribers: Subscribers,
) -> sentences.TreePlan:
    """Return the steps with their costs and benefits, as people read them."""
    saved = routing(problem, problem.today).cost_per_s - routing(problem, goal).cost_per_s
    price = check(replace(transformation_of(problem, goal), options=_prices(problem)), steps)
    cost = transformation_cost(problem, price=price, held=held_messages(problem, steps))
    return sentences.TreePlan(
        problem=problem,
        goal=goal,
        goal_title=goal_title,
        overlay_name=overlay_name,
        steps=steps,
        planner=planner_name,
        lower_bound_actions=bounds[0],
        lower_bound_steps=bounds[1],
        net_benefit=net_benefit(problem, saved_per_s=saved, cost=cost),
        transformation_cost=cost,
        pause_s=len(steps) * problem.disruption.pause_s,
        disturbed=disturbed(problem, steps, subscribers),
        traffic_detail=detail,
    )


def _prices(problem: EvaluationProblem) -> Options:
    """Return the options without composites, to price the actions that are carried out."""
    return replace(problem.options, parallel="broker-disjoint", move_goal_links=True)
