"""How large the program is: as the paper writes it, and as it is written here.

Table I of the paper counts variables and constraints of appendix A. With b brokers, a slides and T
steps, its numbers for 60 brokers come out of F = b (b - 1) propositions, conn and rem once per
undirected pair, over points of time 0..T:

- variables: a T + 5 F (T + 1),
- constraints, per step: 7 F (equations 5, 7, 9, 11 to 14) and one per slide and effect or
  precondition (6, 10): conn of the link made, rem of it unless the goal has it, conn of the pivot;
  besides F for the initial state (2, 3), F more that the text does not show, and one per goal
  link (4).

That gives its 1 355 820, 392 928 and 154 620 variables exactly for T = 6, 7 and 7, and its
constraints for N exactly, for A with 33 goal links among its 34 brokers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.planners.ipitt.actions import groups, slides
from weir.planners.ipitt.horizon import ground, horizon
from weir.planners.ipitt.model import Model, prices
from weir.transformation.indexed import indexed

if TYPE_CHECKING:
    from weir.model.transformation import Transformation
    from weir.planners.ipitt.actions import ActionSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Count the slides, variables and constraints of an integer program."""

    slides: int
    variables: int
    constraints: int


def as_written_in_the_paper(
    *, brokers: int, slides: int, slides_to_goal_links: int, steps: int
) -> Size:
    """Appendix A in full, without leaving anything out."""
    propositions = brokers * (brokers - 1)
    per_step = 7 * propositions + 3 * slides - slides_to_goal_links
    return Size(
        slides=slides,
        variables=slides * steps + 5 * propositions * (steps + 1),
        constraints=per_step * steps + 2 * propositions + brokers - 1,
    )


def both(problem: Transformation, which: ActionSet, steps: int) -> tuple[Size, Size]:
    """The paper's size and ours, for a problem whose brokers all stay."""
    names = indexed(problem)
    chosen = slides(groups(problem, names, which))
    goal = {(a, b) for a, b in names.goal.tolist()}
    ends = zip(chosen.i.tolist(), chosen.k.tolist(), strict=True)
    paper = as_written_in_the_paper(
        brokers=len(names.names),
        slides=len(chosen),
        slides_to_goal_links=sum((min(i, k), max(i, k)) in goal for i, k in ends),
        steps=steps,
    )
    of = ground(problem, names, chosen, ask=_nothing)
    within = horizon(of, steps, ask=_nothing)
    if within is None:
        return paper, Size(slides=0, variables=0, constraints=0)
    price = prices(of, problem.options.action_costs, names)
    model = Model(of, within, problem.options, price)
    rows = model.program(ask=_nothing).matrix.shape[0]
    used = len({int(a) for step in within.slides for a in step})
    return paper, Size(slides=used, variables=model.columns, constraints=rows)


def _nothing() -> None:
    return None
