"""Compute at once what a changed contract or other brokers would do, and store nothing."""

from collections.abc import Sequence
from typing import Any

from apps.common.computing import Queue, turn
from apps.common.errors import ApplicationError
from apps.placements.domain.outcome import outcome_of
from apps.placements.models import Placement
from weir.codec.placement import placement_from_json
from weir.errors import InvalidProblem
from weir.placement.explained import explained_of
from weir.placement.what_if import WhatIf, changed

MOST_PUBLISHERS = 20_000
"""The number of publishers that are placed while a request waits; more need a run."""

WHAT_IFS = Queue("Another placement is being computed. Try again in a second.")


def placement_what_if(
    *, placement: Placement, drained_brokers: Sequence[str] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return the outcome on the changed snapshot; `changes` as `WhatIf` takes them. Raises
    ApplicationError for changes that do not fit, a topic too large, or when busy."""
    if placement.publishers > MOST_PUBLISHERS:
        raise ApplicationError(
            "too_large_to_place",
            f"{placement.topic_name} has {placement.publishers:,} publishers; up to "
            f"{MOST_PUBLISHERS:,} are placed at once. Change the model and start a placement.",
            status=409,
        )
    drained = None if drained_brokers is None else tuple(sorted(set(drained_brokers)))
    with turn(WHAT_IFS):
        run = placement.run
        problem = placement_from_json(bytes(run.snapshot.payload))
        try:
            other = changed(problem, WhatIf(drained=drained, **changes))
        except InvalidProblem as error:
            field = "drained_brokers" if error.path == "drained" else error.path
            raise ApplicationError.of_field(field, error.message, detail=error.message) from error
        return outcome_of(explained_of(other, run.method, run.parameters, seed=run.seed))
