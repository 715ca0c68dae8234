"""Place publishers over the fewest brokers, max-min, each correlation group in proportion.

The three principles of SRTM (sections 4.1 to 4.3). A topic that is placed already moves as few
publishers as its objective allows: whoever has a broker that is not drained stays there, and all
are placed anew only where that keeps the objective and staying does not.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on load
distribution in a latency-sensitive messaging service.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from weir.model.placement import NOWHERE
from weir.placement._assigning import Rule, assign
from weir.placement._prediction import predicted
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from weir.model.placement import Placement, PlacementProblem

NAME = "srtm"
TITLE = "Concentration, max-min, correlation keys"
SUMMARY = (
    "Takes the fewest brokers, evens out the topic's parts, splits correlated publishers: exactly "
    "for equal rates, by a heuristic for others."
)
RULE = Rule(fewest_brokers=True, even_totals=False, by_group=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of the method: what may move."""

    stay: bool = field(
        default=True,
        metadata=about(help="Keep publishers where they are as long as that meets the objective."),
    )

    def __post_init__(self) -> None:
        check_fields(self)


def place(problem: PlacementProblem, params: Params, *, seed: int) -> Placement:
    """Return the placement with the fewest moves that meets the objective, else the one anew."""
    objectives = problem.contract.objectives
    anew = predicted(problem, assign(problem, RULE, seed=seed, keep=False), method=NAME)
    if not params.stay or not (problem.publishers.today != NOWHERE).any():
        return anew
    stayed = predicted(problem, assign(problem, RULE, seed=seed, keep=True), method=NAME)
    if np.count_nonzero(stayed.broker_of == NOWHERE) > np.count_nonzero(anew.broker_of == NOWHERE):
        return anew
    return anew if anew.meets(objectives) and not stayed.meets(objectives) else stayed
