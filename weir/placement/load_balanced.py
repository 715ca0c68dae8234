"""Place publishers over all brokers so that total loads are even (LB in SRTM, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.placement._assigning import Rule, assign
from weir.placement._prediction import predicted

if TYPE_CHECKING:
    from weir.model.placement import Placement, PlacementProblem

NAME = "load_balanced"
TITLE = "Load balancing"
SUMMARY = "Evens out total loads over all brokers; splits the token bucket most."
RULE = Rule(fewest_brokers=False, even_totals=True, by_group=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """The parameters of the method: there are none."""


def place(problem: PlacementProblem, params: Params, *, seed: int) -> Placement:
    """Return the placement anew, wherever publishers are today; pins hold."""
    places = assign(problem, RULE, seed=seed, keep=False)
    return predicted(problem, places, method=NAME)
