"""Move flows and whole streams on the cost of both layers at once, heavy flows first, then anneal.

Flows with the same audience move as one, which loses nothing. Streams and groups of streams are
formed by turns; how many streams a group gets follows from what a stream saves there. With a former
map every flow moves on its own, from there on, and whatever moves is charged; a map made anew is
taken only where it is cheaper with all its moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from weir.clustering._improve import Watch, cool
from weir.clustering.adaptive import adapted, charged_cost, made_anew
from weir.clustering.blocks import InRounds, in_turn
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from weir.clustering.blocks import Workers
    from weir.model.mapping import FlowMap, MappingProblem

NAME = "joint"
TITLE = "Both layers at once"
SUMMARY = (
    "Streams and groups by turns, then moves of flows and whole streams on the joint cost, first "
    "downhill, then by annealing; keeps a former map where moving does not pay."
)

MOST_INTERESTS = 500_000
"""What effort is counted by at most: beyond, moves downhill bring most and take the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of the method: how long it looks, how often, and whether by blocks."""

    effort: float = field(
        default=20.0,
        metadata=about(
            help="Moves that annealing tries for each interest, of 500,000 at most; 0: none.",
            min=0,
            max=1e5,
        ),
    )
    restarts: int = field(
        default=1,
        metadata=about(
            help="Searches with seeds of their own; the cheapest map wins.", min=1, max=10_000
        ),
    )
    rounds: int = field(
        default=0,
        metadata=about(
            help="Rounds of annealing by blocks of groups; 0: the whole map at once.",
            min=0,
            max=10_000,
        ),
    )
    parts: int = field(
        default=4, metadata=about(help="Blocks of a round at most.", min=1, max=10_000)
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def trials(self, problem: MappingProblem) -> int:
        """Return how many moves annealing tries in this problem; where few items are left, it tries
        thousands, unless it shall try none."""
        return int(self.effort * min(len(problem.interests.users), MOST_INTERESTS))


class Choice(NamedTuple):
    """The cheapest map of some searches."""

    flow_map: FlowMap
    charged: float
    """Its cost with what its moves are charged, in work per second."""
    number: int
    """Of the search that gave it; of equal ones the first."""


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the cheapest map that was seen; with a former one, counting what moving is charged."""
    numbers = range(params.restarts)
    return cheapest(problem, params, numbers, seed=seed, stop=stop, report=report).flow_map


def cheapest(
    problem: MappingProblem,
    params: Params,
    numbers: Iterable[int],
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
    workers: Workers = in_turn,
) -> Choice:
    """Return the cheapest map of the searches with these numbers, one after another.

    Once `stop` says so no further one begins. `workers` improve blocks, where there are rounds.
    """
    given = list(numbers)
    trials = params.trials(problem)
    watch = Watch(stop=stop, report=report)
    make = made_anew if problem.former is None else adapted
    annealing = (
        InRounds(rounds=params.rounds, parts=params.parts, workers=workers)
        if params.rounds
        else cool
    )
    best: Choice | None = None
    complete = True
    for at, number in enumerate(given):
        if best is not None and stop():
            complete = False
            break
        flow_map = make(
            problem,
            trials=trials,
            seed=seed_of(seed, number),
            watch=watch.part(at / len(given), (at + 1) / len(given)),
            annealing=annealing,
        )
        complete = complete and flow_map.complete
        choice = Choice(flow_map, charged_cost(problem, flow_map), number)
        if best is None or choice.charged < best.charged:
            best = choice
    assert best is not None
    return best._replace(flow_map=replace(best.flow_map, complete=complete))


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a search; the first has the seed itself."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
