"""Carry out one attempt of a run: claim it, solve on Spark with heartbeats, store the answer."""

import logging
import time
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from apps.common.connections import DATABASE_PATIENCE_S, patiently
from apps.common.errors import ApplicationError
from apps.runs.models import Run
from apps.runs.selectors import computation_of
from apps.runs.services import (
    CancelWasAsked,
    RunTakenAway,
    gateway,
    progress_token,
    run_cancelled,
    run_claim,
    run_fail,
    run_heartbeat,
    run_lost,
)
from apps.runs.services.computations import run_job_inputs, run_store
from apps.runs.services.gateway import JobOrder

logger = logging.getLogger(__name__)
HEARTBEAT_EVERY_S = 0.5


class _Pulse:
    """Send the heartbeats of one attempt; a short outage of the database does not stop the job."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.last_try = time.monotonic()
        self.last_good = time.monotonic()

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self.last_try < HEARTBEAT_EVERY_S:
            return True
        self.last_try = now
        try:
            alive = run_heartbeat(run=self.run)
        except (OperationalError, InterfaceError):
            connection.close()
            if now - self.last_good > DATABASE_PATIENCE_S:
                raise
            return True
        self.last_good = now
        return alive


def run_execute(*, public_id: UUID) -> None:
    """Carry out one attempt of this run, if it is queued: its kind registered the job and how to
    store the answer."""
    run = patiently(lambda: run_claim(run=public_id))
    if run is None:
        return
    try:
        computation = computation_of(run.kind)
        answer = gateway.spark_solve(
            job=computation.job or gateway.ONE_CALL,
            key=f"{run.public_id}-{run.attempt}",
            payload=bytes(run.snapshot.payload),
            order=JobOrder(
                kernel=computation.kernel,
                method=run.method,
                parameters=run.parameters,
                seed=run.seed,
                time_limit_s=run.time_limit_s,
                progress_url=f"{settings.WEIR_WEB_URL}/internal/runs/progress",
                progress_token=progress_token(run),
                inputs=patiently(lambda: run_job_inputs(run)),
            ),
            keep_going=_Pulse(run),
            patience_s=settings.WEIR_SPARK_PATIENCE_S,
        )
        patiently(lambda: run_store(run, answer))
    except RunTakenAway as gone:
        logger.warning("%s: taken away meanwhile, answer dropped", gone)
    except (gateway.JobCancelled, CancelWasAsked):
        _end(lambda: run_cancelled(run=run))
    except gateway.SparkAway as error:
        reason = f"The Spark server did not answer ({error})."
        _end(lambda: run_lost(run=run, code="spark_lost", reason=reason))
    except ApplicationError as refusal:
        code, reason = refusal.code, refusal.message
        _end(lambda: run_fail(run=run, code=code, reason=reason))
    except gateway.JobFailed as error:
        reason = str(error)
        _end(lambda: run_fail(run=run, code="job_failed", reason=reason))
    except (OperationalError, InterfaceError):
        logger.exception("%s: database away too long; the reaper will find this run", run)
    except Exception as error:
        logger.exception("%s failed", run)
        reason = f"{type(error).__name__}: {error}. This is a fault of Weir; the log has the trace."
        _end(lambda: run_fail(run=run, code="internal_error", reason=reason))


def _end(action: Callable[[], None]) -> None:
    try:
        patiently(action)
    except RunTakenAway as gone:
        logger.warning("%s: taken away meanwhile", gone)
