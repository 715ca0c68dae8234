"""Move flows and whole streams on the cost of both layers at once, heavy flows first, then anneal.

Flows with the same audience move as one, which loses nothing. Groups come first; how many streams
each gets follows from what a stream saves there. From a former map the search begins there, and
whatever moves is charged; a map made anew is taken only where it is cheaper with all its moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.clustering._construct import Watch
from weir.clustering.adaptive import adapted, made_anew
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from weir.model.mapping import FlowMap, MappingProblem

NAME = "joint"
TITLE = "Both layers at once"
SUMMARY = (
    "Groups, then streams by what each saves, then moves of flows and whole streams on the joint "
    "cost, downhill and by annealing; keeps a former map where moving does not pay."
)

MOST_INTERESTS = 500_000
"""What effort is counted by at most: beyond, moves downhill bring most and take the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of the method: how long it looks."""

    effort: float = field(
        default=20.0,
        metadata=about(
            help="Moves that annealing tries for each interest, or for the first 500,000 of many.",
            min=0,
            max=1e5,
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def trials(self, problem: MappingProblem) -> int:
        """Return how many moves annealing tries in this problem."""
        return int(self.effort * min(len(problem.interests.users), MOST_INTERESTS))


def cluster(
    problem: MappingProblem,
    params: Params,
    *,
    seed: int,
    stop: Callable[[], bool],
    report: Callable[[Mapping[str, Any]], None],
) -> FlowMap:
    """Return the cheapest map that was seen; with a former one, counting what moving is charged."""
    trials = params.trials(problem)
    watch = Watch(stop=stop, report=report, total=trials)
    make = made_anew if problem.former is None else adapted
    return make(problem, trials=trials, seed=seed, watch=watch)
