"""Place all publishers anew by one rule, wherever they are today: the paper's baselines.

Each baseline is a file with its name and its rule; this is what they do with it. Pins hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.placement._assigning import Rule, assign
from weir.placement._prediction import predicted

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.placement import Placement, PlacementProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class NoParams:
    """The parameters of a baseline: there are none."""


def baseline(name: str, rule: Rule) -> Callable[..., Placement]:
    """Return the `place` of the method of this name: the rule for all publishers that no pin
    holds."""

    def place(problem: PlacementProblem, params: NoParams, *, seed: int) -> Placement:
        places = assign(problem, rule, seed=seed, keep=False)
        return predicted(problem, places, method=name)

    return place
