"""Place publishers over the fewest brokers, the smallest part as large as possible.

The baseline Max-Min of SRTM, section 6.3: it does not know correlation groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.placement._assigning import Rule, assign
from weir.placement._prediction import predicted

if TYPE_CHECKING:
    from weir.model.placement import Placement, PlacementProblem

NAME = "max_min"
TITLE = "Max-min"
SUMMARY = "Takes the fewest brokers and makes the smallest part of the topic as large as it can be."
RULE = Rule(fewest_brokers=True, even_totals=False, by_group=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of the method: there are none."""


def place(problem: PlacementProblem, params: Params, *, seed: int) -> Placement:
    """Return the placement anew, wherever publishers are today; pins hold."""
    places = assign(problem, RULE, seed=seed, keep=False)
    return predicted(problem, places, method=NAME)
