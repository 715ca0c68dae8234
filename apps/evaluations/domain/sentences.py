"""Write the sentences of an overlay plan: its reasons, promises, assumptions and effects."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.common.formatting import counted, figure, percent
from apps.evaluations.domain.figures import MOST_FIGURES
from apps.plans.domain.envelope import offered_bound
from weir.actions import edge
from weir.model.evaluation import EvaluationProblem, Routing
from weir.model.plan import LINK_TRAFFIC, LONGEST_PAUSE, Action, Bound, Promise, Step
from weir.model.transformation import Move, Steps
from weir.routing.cost import loads, routing
from weir.transformation.moves import Neighbours, apply, change, neighbours

KINDS = {"shift": "shift_link", "append": "append_broker", "detach": "detach_broker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """Hold the steps from the tree in force to a goal, with what is known of them."""

    problem: EvaluationProblem
    goal: frozenset[tuple[str, str]]
    goal_title: str
    overlay_name: str
    steps: Steps
    planner: str
    lower_bound_actions: int
    lower_bound_steps: int
    net_benefit: float | None
    transformation_cost: float | None
    pause_s: float | None
    disturbed: int | None
    traffic_detail: str

    @property
    def actions(self) -> int:
        """Return how many actions the steps have."""
        return sum(map(len, self.steps))


def before_after(plan: TreePlan) -> tuple[Routing, Routing]:
    """Return the routing on the tree in force and on the goal."""
    return routing(plan.problem, plan.problem.today), routing(plan.problem, plan.goal)


def why(plan: TreePlan) -> tuple[str, ...]:
    """Return the reasons, most important first."""
    now, then = before_after(plan)
    sentences = [_routed(plan, now, then), *_loaded(now, then), _length(plan)]
    if plan.net_benefit is not None and plan.transformation_cost is not None:
        sentences.append(
            f"Over {_span(plan.problem.horizon_s)} it saves "
            f"{_amount((now.cost_per_s - then.cost_per_s) * plan.problem.horizon_s)} of "
            "routing and "
            f"the transformation costs {_amount(plan.transformation_cost)}: a net benefit of "
            f"{_amount(plan.net_benefit)}, counted in messages over one link."
        )
    if plan.disturbed is not None:
        pause = "" if plan.pause_s is None else f", for {figure(plan.pause_s)} s in all at least"
        sentences.append(
            f"Topics of {counted(plan.disturbed, 'consumer')} pause while a link that they cross "
            f"moves{pause}; reliable topics lose nothing."
        )
    sentences.append(plan.traffic_detail)
    return tuple(sentences)


def _routed(plan: TreePlan, now: Routing, then: Routing) -> str:
    return (
        f"{plan.goal_title} carries {figure(then.link_messages_per_s)} msg/s over its links with "
        f"{figure(then.in_flight)} messages in flight; {plan.overlay_name} carries "
        f"{figure(now.link_messages_per_s)} msg/s with {figure(now.in_flight)} "
        f"({_change(now.link_messages_per_s, then.link_messages_per_s)} and "
        f"{_change(now.in_flight, then.in_flight)})."
    )


def _loaded(now: Routing, then: Routing) -> list[str]:
    if not now.highest_broker or not then.highest_broker:
        return []
    return [
        f"The busiest broker is {then.highest_broker} with {percent(then.highest_load)} of its "
        f"capacity, instead of {now.highest_broker} with {percent(now.highest_load)}."
    ]


def _length(plan: TreePlan) -> str:
    actions = counted(plan.actions, "action")
    steps = counted(len(plan.steps), "step")
    if plan.actions == plan.lower_bound_actions:
        proof = "no plan has fewer actions"
    else:
        proof = f"at least {counted(plan.lower_bound_actions, 'action is', 'actions are')} needed"
    if len(plan.steps) == plan.lower_bound_steps:
        proof += " or fewer steps" if "no plan" in proof else ", and no plan has fewer steps"
    return f"{actions} in {steps} lead there; {proof}."


def _change(before: float, after: float) -> str:
    return percent((after - before) / before, 1, signed=True) if before > 0 else "from nothing"


def _span(seconds: float) -> str:
    for size, noun in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size:
            count = seconds / size
            return f"1 {noun}" if count == 1 else f"{figure(count)} {noun}s"
    return f"{figure(seconds)} s"


def _amount(messages: float) -> str:
    return f"{messages:,.0f}"


def promise(plan: TreePlan) -> tuple[Promise, ...]:
    """Return messages in flight, traffic on links and the highest load, before and after; and how
    long one moving link is expected to hold its messages."""
    now, then = before_after(plan)
    rows = [
        ("messages in flight", "messages", now.in_flight, then.in_flight),
        (LINK_TRAFFIC, "msg/s", now.link_messages_per_s, then.link_messages_per_s),
    ]
    if now.highest_broker and then.highest_broker:
        rows.append(("highest broker load", "share", now.highest_load, then.highest_load))
    pause = Promise(
        name=LONGEST_PAUSE, unit="s", before=None, after=plan.problem.disruption.pause_s
    )
    return (
        *(
            Promise(name=name, unit=unit, before=float(before), after=float(after))
            for name, unit, before, after in rows
        ),
        *([pause] if plan.steps else []),
    )


def envelope(problem: EvaluationProblem, offered: Mapping[str, float]) -> tuple[Bound, ...]:
    """Return the published rates between which the promise holds; a bound's name is the topic's."""
    bounds = []
    for row in problem.traffic:
        expected = sum(row.published.values())
        measured = offered.get(row.topic)
        if not expected and not measured:
            continue
        bounds.append(offered_bound(row.topic, measured=measured, assumed=expected))
    return tuple(bounds)


def plan_steps(plan: TreePlan) -> tuple[Step, ...]:
    """Return the steps as the plan document holds them, each action with its effect on the
    traffic."""
    tree = neighbours(plan.problem.today, plan.problem.today_brokers)
    work = len(plan.problem.brokers) * max(1, len(plan.problem.traffic)) * plan.actions
    with_effects = work <= MOST_FIGURES
    steps = []
    for step in plan.steps:
        actions = [_action(plan.problem, tree, move, with_effects=with_effects) for move in step]
        for move in step:
            apply(tree, move)
        steps.append(Step(actions=tuple(actions)))
    return tuple(steps)


def _action(
    problem: EvaluationProblem, tree: Neighbours, move: Move, *, with_effects: bool
) -> Action:
    target = {
        "shift": {"i": move.broker, "j": move.source, "k": move.to},
        "append": {"broker": move.broker, "to": move.to},
        "detach": {"broker": move.broker, "from": move.source},
    }[move.op]
    return Action(
        kind=KINDS[move.op],
        target={name: broker for name, broker in target.items() if broker is not None},
        effect=_effect(problem, tree, move) if with_effects else "",
    )


def _effect(problem: EvaluationProblem, tree: Neighbours, move: Move) -> str:
    """Return the effect of one action by itself, on the tree before its step."""
    done = change(tree, move)
    before = frozenset(edge(a, b) for a, others in tree.items() for b in others)
    after = before - {done.removes} | ({done.makes} if done.makes else set())
    after = frozenset(pair for pair in after if pair is not None)
    if not before or not after:
        return ""
    was, will = loads(problem, before), loads(problem, after)
    total = sum(will.links.values()) - sum(was.links.values())
    parts = []
    if done.removes is not None:
        parts.append(
            f"{figure(was.links.get(done.removes, 0.0))} msg/s leave {'-'.join(done.removes)}"
        )
    if done.makes is not None:
        parts.append(f"{figure(will.links.get(done.makes, 0.0))} msg/s take {'-'.join(done.makes)}")
    verb = "more" if total > 0 else "fewer"
    net = (
        f"{figure(abs(total))} msg/s {verb} on links"
        if abs(total) >= 0.005
        else ("as much on links as before")
    )
    return f"{' and '.join(parts)}: {net}."
