"""Planners of overlay transformations: one package per method, found by folder.

A member defines NAME (its folder), TITLE, SUMMARY, Params (a frozen dataclass that checks
itself) and `plan(problem, params, *, objective, stop, seed, on_progress=None, start=None)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from weir.plugins import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation, TransformationPlan

DEFAULT = "slides"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProgress:
    """Report how far a planner is; None means that there is no plan yet."""

    round: int
    actions: int | None
    steps: int | None
    lower_bound_actions: int
    lower_bound_steps: int


class Planner(Protocol):
    """Describe what a module of this folder offers."""

    NAME: str
    TITLE: str
    SUMMARY: str
    Params: type[Any]

    def plan(
        self,
        problem: Transformation,
        params: Any,
        *,
        objective: Objective,
        stop: Callable[[PlanProgress], bool],
        seed: int,
        on_progress: Callable[[PlanProgress], None] | None = None,
        start: Steps | None = None,
    ) -> TransformationPlan:
        """The best plan found before `stop`, which is asked at least every 50 ms, says enough.

        `start` is a valid plan to begin from. Raises NoPlan where none was found and nothing
        proves that there is none; that proof is the status `infeasible`.
        """
        ...


_REGISTRY: Registry[Planner] = Registry("weir.planners", 'no planner "{}"', beside=("answer",))
planners = _REGISTRY.members
planner = _REGISTRY.find
