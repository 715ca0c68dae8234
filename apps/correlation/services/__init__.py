"""Start the search for publishers that burst together, and decide what becomes of suggestions."""

from typing import Any

from apps.accounts.models import User
from apps.correlation.services.computation import KIND
from apps.correlation.services.decide import (
    suggestion_accept,
    suggestion_reject,
    suggestion_undo,
)
from apps.runs.models import Run
from apps.runs.services.computations import computation_start
from apps.systems.models import System

__all__ = [
    "correlation_request",
    "suggestion_accept",
    "suggestion_reject",
    "suggestion_undo",
]


def correlation_request(*, system: System, actor: User | None, **asked: Any) -> Run:
    """Freeze when a topic's publishers sent and open a run on it; `asked` as `computation.freeze`
    takes it."""
    return computation_start(KIND, system=system, actor=actor, **asked)
