"""Start the computation of allocations."""

from typing import Any

from apps.accounts.models import User
from apps.allocations.services.computation import DEFAULT_METHOD, KIND
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = ["DEFAULT_METHOD", "allocation_request", "allocation_request_for_problem"]


def allocation_request(*, system: System, actor: User | None, **asked: Any) -> Run:
    """Freeze the system's model and open a run on it; `asked` as `computation.freeze` takes it."""
    return computation_start(KIND, system=system, actor=actor, **asked)


def allocation_request_for_problem(*, problem: object, actor: User | None, **asked: Any) -> Run:
    """Open a run on a problem that the caller brings, as in docs/formats.md, Allocation."""
    return computation_start(KIND, system=None, actor=actor, problem=problem, **asked)
