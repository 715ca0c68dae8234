"""Start the search for publishers that burst together, and decide what becomes of suggestions."""

from typing import Any

from apps.accounts.models import User
from apps.catalog.models import Topic
from apps.correlation.models import Source
from apps.correlation.selectors.measured import MOST_MINUTES
from apps.correlation.services.computation import KIND, prepare
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


def correlation_request(
    *,
    system: System,
    actor: User | None,
    topic: Topic,
    source: str = Source.MEASURED,
    minutes: float = MOST_MINUTES,
    recording: str = "",
    **search: Any,
) -> Run:
    """Freeze when a topic's publishers sent and open a run on it; `search` as `computation.freeze`
    takes it. Raises Conflict `not_measured`, ApplicationError that names the field."""
    # It may take seconds, in which nobody else should wait for the system.
    prepared = prepare(topic, source=source, minutes=minutes, recording=recording)
    return computation_start(KIND, system=system, actor=actor, prepared=prepared, **search)
