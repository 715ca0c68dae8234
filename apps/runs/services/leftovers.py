"""Delete files of attempts that are over: a worker that is killed cannot do it itself."""

import logging
import time
from uuid import UUID

from apps.runs.models import Run
from apps.runs.services import gateway
from weir.lifecycle.runs import RunState

logger = logging.getLogger(__name__)
SWEEP_EVERY_S = 3600.0
IDLE_S = 86_400.0
"""Files of a command, of which no run is known, are left alone for so long after the latest of them
was written."""


class Sweep:
    """Sweeps in one process: before its first run, then once an hour at most."""

    def __init__(self) -> None:
        self._last_s: float | None = None

    def __call__(self) -> None:
        """Sweep where it is time; what goes wrong is logged and keeps nobody from computing."""
        now_s = time.monotonic()
        if self._last_s is not None and now_s - self._last_s < SWEEP_EVERY_S:
            return
        self._last_s = now_s
        try:
            leftovers_sweep()
        except Exception:
            # A sweep that fails must not keep a run from starting; the next one tries again.
            logger.exception("files that runs left could not be swept")


def leftovers_sweep() -> int:
    """Delete the files of attempts that no run is in any more, and those of commands that have
    written nothing for a day; return how many attempts and commands those are."""
    # Listed first: an attempt whose files are there had been claimed when its run is read.
    written = gateway.exchanged()
    attempts = {key: _attempt_of(key) for key in written}
    runs = {
        public_id: (state, attempt)
        for public_id, state, attempt in Run.objects.filter(
            public_id__in=[known[0] for known in attempts.values() if known]
        ).values_list("public_id", "state", "attempt")
    }
    swept = 0
    for key, known in attempts.items():
        if known is not None and known[0] in runs:
            state, latest = runs[known[0]]
            over = state != RunState.RUNNING or known[1] < latest
        else:
            over = time.time() - written[key] > IDLE_S
        if over:
            gateway.discard(key)
            logger.info("deleted what %s left with Spark", key)
            swept += 1
    return swept


def _attempt_of(key: str) -> tuple[UUID, int] | None:
    """Return the run and attempt that a key names; None for a command's."""
    run, _, attempt = key.rpartition("-")
    try:
        return UUID(run), int(attempt)
    except ValueError:
        return None
