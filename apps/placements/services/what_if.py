"""Compute at once what a changed contract or other brokers would do, and store nothing."""

import time
from collections.abc import Sequence
from typing import Any

from apps.common.computing import Queue, turn
from apps.common.errors import ApplicationError
from apps.placements.models import Placement
from apps.placements.services.store import outcome_of
from apps.runs.models import Run
from weir.codec.placement import placement_from_json
from weir.errors import InvalidProblem
from weir.model.placement import PlacementProblem
from weir.placement.explained import explained_of
from weir.placement.what_if import WhatIf, changed

MOST_PUBLISHERS = 20_000
"""The number of publishers that are placed while a request waits; more need a run."""

LONGEST_S = 10.0
"""How long a request waits: large correlated groups at many brokers take longer."""

WHAT_IFS = Queue("Another placement is being computed. Try again in a second.")


def placement_what_if(
    *, placement: Placement, drained_brokers: Sequence[str] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return the outcome on the changed snapshot; `changes` as `WhatIf` takes them. Raises
    ApplicationError for changes that do not fit, a topic too large, or when busy."""
    if placement.publishers > MOST_PUBLISHERS:
        raise _too_large(
            f"{placement.topic_name} has {placement.publishers:,} publishers; up to "
            f"{MOST_PUBLISHERS:,} are placed at once."
        )
    drained = None if drained_brokers is None else tuple(sorted(set(drained_brokers)))
    with turn(WHAT_IFS):
        problem = placement_from_json(bytes(placement.run.snapshot.payload))
        try:
            other = changed(problem, WhatIf(drained=drained, **changes))
        except InvalidProblem as error:
            field = "drained_brokers" if error.path == "drained" else error.path
            raise ApplicationError.of_field(field, error.message, detail=error.message) from error
        return outcome_of(_explained(placement.run, other))


def _explained(run: Run, problem: PlacementProblem) -> dict[str, Any]:
    """Return the kernel's answer by the run's method. Raises ApplicationError when it takes too
    long."""
    deadline_s = time.monotonic() + LONGEST_S

    def go_on(done: int, total: int) -> bool:
        if time.monotonic() > deadline_s:
            raise _too_large(f"This takes more than {LONGEST_S:g} s.")
        return True

    return explained_of(problem, run.method, run.parameters, seed=run.seed, go_on=go_on)


def _too_large(reason: str) -> ApplicationError:
    message = f"{reason} Change the model and start a placement."
    return ApplicationError("too_large_to_place", message, status=409)
