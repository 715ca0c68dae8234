"""What a run is asked for, and one number of steps that it tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from weir.planners.ipitt.actions import ActionSet
    from weir.planners.ipitt.horizon import Ground
    from weir.solvers import BinarySolver
    from weir.transformation.indexed import Indexed
    from weir.utility import FloatArray


class Ended(Exception):
    """End the search because the caller asked to stop."""


def solver(name: str) -> BinarySolver:
    """Loaded when it is needed: planners are listed without waiting for solvers."""
    if name == "highs":
        from weir.solvers import highs_binary

        return highs_binary
    from weir.solvers import cp_sat

    return cp_sat


class Settings(Protocol):
    """Name the fields of `weir.planners.ipitt.Params` that a run reads."""

    @property
    def action_set(self) -> str: ...
    @property
    def solver(self) -> str: ...
    @property
    def first_length_only(self) -> bool: ...
    @property
    def max_steps(self) -> int: ...
    @property
    def max_slides(self) -> int: ...
    @property
    def max_terms(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Hold a number of steps, and what does not depend on it."""

    steps: int
    of: Ground
    price: FloatArray
    names: Indexed


def action_set(settings: Settings) -> ActionSet:
    """The slides that may be used."""
    known: dict[str, ActionSet] = {"N": "N", "A": "A", "E": "E"}
    return known[settings.action_set]
