"""Run the life of runs. Every transition is made here, under the row's lock, with its event row."""

import hashlib
import logging
import os
import socket
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict
from apps.common.events import publish
from apps.common.tasks_by_name import enqueue
from apps.demand.models import DemandEstimate
from apps.runs.models import CANCEL_REQUESTED, OPENED, Run, RunEvent, RunResult, Snapshot
from apps.runs.selectors import run_news, run_note
from apps.systems.models import System
from weir.errors import IllegalTransition
from weir.lifecycle.runs import ENDED, RUNS, RunCommand, RunState

logger = logging.getLogger(__name__)
TASK = "runs.execute"
PROGRESS_SALT = "weir.runs.progress.by-public-id"


class RunTakenAway(Exception):
    """Signal that the run was given to another worker, or ended, while this one worked on it."""


class CancelWasAsked(Exception):
    """Signal an answer that came after a cancel was accepted; it is not stored."""


def snapshot_freeze(
    *, kind: str, payload: bytes, system: System | None, demand: DemandEstimate | None = None
) -> Snapshot:
    """Store the canonical bytes of a problem under their hash; the same content is stored once."""
    digest = hashlib.sha256(payload).hexdigest()
    snapshot, _ = Snapshot.objects.get_or_create(
        system=system,
        kind=kind,
        content_hash=digest,
        model_version=system.model_version if system else None,
        demand=demand,
        defaults={"payload": payload},
    )
    return snapshot


@transaction.atomic
def run_open(
    *,
    kind: str,
    snapshot: Snapshot,
    method: str,
    parameters: dict[str, Any],
    seed: int,
    time_limit_s: float | None,
    actor: User | None,
    rerun_of: Run | None = None,
    starts_from: Run | None = None,
    note: str = "",
) -> Run:
    """Open a queued run of this kind and send it on commit. `starts_from` is the run whose result
    it begins at; `note` says why it is computed."""
    run = Run.objects.create(
        kind=kind,
        system=snapshot.system,
        snapshot=snapshot,
        method=method,
        parameters=parameters,
        seed=seed,
        time_limit_s=time_limit_s,
        asked_by=actor,
        rerun_of=rerun_of,
        starts_from=starts_from,
        sent_at=Now(),
    )
    _note(run, OPENED, note)
    record(
        actor=actor,
        action="start",
        object_kind="run",
        object_id=run.public_id,
        object_name=str(run),
        system_id=snapshot.system.public_id if snapshot.system else None,
        model_version=snapshot.model_version,
        reason=note,
        after={
            "method": method,
            "parameters": parameters,
            "seed": seed,
            **({"starts_from": str(starts_from)} if starts_from else {}),
        },
    )
    _send(run)
    return run


def _send(run: Run) -> None:
    """Send the run to the workers by its public id: a message may name a run that a restored
    database has forgotten, and whose key it uses again."""
    enqueue(TASK, run=str(run.public_id))


def run_repeat(*, run: Run, actor: User | None) -> Run:
    """Open a new run on the same snapshot with the same method, parameters, seed, start and
    note."""
    if run.state not in ENDED:
        raise Conflict("run_is_active", f"{run} is still {run.state}; cancel it or let it end.")
    return run_open(
        kind=run.kind,
        snapshot=run.snapshot,
        method=run.method,
        parameters=run.parameters,
        seed=run.seed,
        time_limit_s=run.time_limit_s,
        actor=actor,
        rerun_of=run,
        starts_from=run.starts_from,
        note=run_note(run),
    )


def _note(run: Run, command: str, note: str = "") -> None:
    RunEvent.objects.create(
        run=run, command=command, state=run.state, attempt=run.attempt, note=note
    )
    publish("run", **run_news(run))


def _move(run: Run, command: RunCommand, note: str = "", **columns: Any) -> None:
    """Make one transition of a locked row."""
    run.state = RUNS.advance(RunState(run.state), command)
    if run.state in ENDED:
        columns["finished_at"] = timezone.now()
    for name, value in columns.items():
        setattr(run, name, value)
    run.save()
    _note(run, command.value, note)


def worker_name() -> str:
    """Return a name of this process, for people who look for it."""
    return f"{socket.gethostname()}:{os.getpid()}"


@transaction.atomic
def run_claim(*, run: UUID) -> Run | None:
    """Take this run for this worker, if it is queued; None when there is nothing (left) to do.

    Waits for whoever holds the row. Its message is gone as soon as this returns, so a row that is
    only looked at must not pass for one that is taken; rows that name the run (`no_key`) do not
    hold it at all.
    """
    row = (
        Run.objects.select_for_update(no_key=True, of=("self",))
        .select_related("snapshot", "system")
        .filter(public_id=run, state=RunState.QUEUED)
        .first()
    )
    if row is None:
        return None
    now = timezone.now()
    _move(
        row,
        RunCommand.START,
        note=worker_name(),
        attempt=row.attempt + 1,
        worker=worker_name(),
        started_at=row.started_at or now,
        heartbeat_at=now,
        progress={},
    )
    return row


def _running(run: UUID, attempt: int) -> QuerySet[Run]:
    """Return the run while this attempt owns it. It is found by its public id: a restored database
    uses keys again, and a surviving worker or job would act on another run."""
    return Run.objects.filter(public_id=run, attempt=attempt, state=RunState.RUNNING)


def run_heartbeat(*, run: Run) -> bool:
    """Record that this attempt lives. Returns False when somebody asked to cancel. Raises
    RunTakenAway."""
    mine = _running(run.public_id, run.attempt)
    if not mine.update(heartbeat_at=Now(), updated_at=timezone.now()):
        raise RunTakenAway(f"{run} attempt {run.attempt}")
    return not mine.filter(cancel_requested_at__isnull=False).exists()


def _lock_attempt(run: Run) -> Run:
    """Lock the row if this attempt still owns it, and return it. Raises RunTakenAway."""
    row = (
        _running(run.public_id, run.attempt)
        .select_for_update(of=("self",))
        .select_related("system")
        .first()
    )
    if row is None:
        raise RunTakenAway(f"{run} attempt {run.attempt}")
    return row


def run_hold(run: Run) -> None:
    """Lock the run for its answer. Raises RunTakenAway, CancelWasAsked like `run_finish`, but
    before anything of the answer is stored."""
    if _lock_attempt(run).cancel_requested_at is not None:
        raise CancelWasAsked(f"{run} attempt {run.attempt}")


@transaction.atomic
def run_finish(
    *,
    run: Run,
    payload: bytes,
    kernel_version: str,
    infeasible_because: str | None,
    progress: dict[str, Any],
) -> None:
    """Store the kernel's answer and end the run; the caller's rows go into the same transaction.

    Raises CancelWasAsked where somebody's cancel came first: it was accepted, so it holds, and
    an answer cut short by it is not one that a rerun would give again.
    """
    row = _lock_attempt(run)
    if row.cancel_requested_at is not None:
        raise CancelWasAsked(f"{run} attempt {run.attempt}")
    RunResult.objects.create(
        run=row, payload=payload, content_hash=hashlib.sha256(payload).hexdigest()
    )
    command = RunCommand.SUCCEED if infeasible_because is None else RunCommand.FIND_INFEASIBLE
    _move(
        row,
        command,
        kernel_version=kernel_version,
        failure=infeasible_because or "",
        failure_code="" if infeasible_because is None else "infeasible",
        progress=progress,
    )


@transaction.atomic
def run_fail(*, run: Run, code: str, reason: str) -> None:
    """End this attempt's run with a sentence a person can act on."""
    row = _lock_attempt(run)
    _move(row, RunCommand.FAIL, note=reason, failure_code=code, failure=reason)


@transaction.atomic
def run_lost(*, run: Run, code: str, reason: str) -> None:
    """Handle the loss of this attempt's server: queue the run again, or fail it after the last
    attempt."""
    _retry_or_fail(_lock_attempt(run), code, reason)


def _retry_or_fail(row: Run, code: str, reason: str) -> None:
    if row.cancel_requested_at is not None:
        _move(row, RunCommand.CANCEL, note=reason)
    elif row.attempt >= settings.WEIR_RUN_MAX_ATTEMPTS:
        tries = f"{reason} Given up after {row.attempt} attempts; start it again when it is mended."
        _move(row, RunCommand.FAIL, note=reason, failure_code=code, failure=tries)
    else:
        _move(row, RunCommand.RETRY, note=reason, worker="", heartbeat_at=None, sent_at=Now())
        _send(row)


@transaction.atomic
def run_cancelled(*, run: Run) -> None:
    """End a run whose worker has stopped the job because somebody asked to cancel."""
    _move(_lock_attempt(run), RunCommand.CANCEL)


@transaction.atomic
def run_cancel(*, run: Run, actor: User, reason: str = "") -> Run:
    """Ask to cancel: a queued run ends now, a running one as soon as its worker has stopped it."""
    row = Run.objects.select_for_update(of=("self",)).select_related("system").get(pk=run.pk)
    note = f"{actor.display_name}: {reason}" if reason else actor.display_name
    if row.state == RunState.RUNNING:
        if row.cancel_requested_at is None:
            row.cancel_requested_at = timezone.now()
            row.save(update_fields=["cancel_requested_at", "updated_at"])
            _note(row, CANCEL_REQUESTED, note=note)
    else:
        try:
            _move(row, RunCommand.CANCEL, note=note)
        except IllegalTransition as error:
            raise Conflict("run_has_ended", f"{row} has already ended: {row.state}.") from error
    record(
        actor=actor,
        action="cancel",
        object_kind="run",
        object_id=row.public_id,
        object_name=str(row),
        system_id=row.system.public_id if row.system else None,
        reason=reason,
    )
    return row


def progress_token(run: Run) -> str:
    """Return the token with which a job reports progress of this attempt, and of no other."""
    return signing.dumps([str(run.public_id), run.attempt], salt=PROGRESS_SALT)


def attempt_of_token(token: str) -> tuple[UUID, int]:
    """Return the public id of the run and the attempt that a job's token names. Raises
    BadSignature."""
    run, attempt = signing.loads(token, salt=PROGRESS_SALT, max_age=7 * 86_400)
    return UUID(run), attempt


def run_progress(*, token: str, progress: dict[str, Any]) -> bool:
    """Store what a job reports. Returns False to tell the job to stop: it is cancelled, or no
    longer owns the run."""
    public_id, attempt = attempt_of_token(token)
    with transaction.atomic():
        mine = _running(public_id, attempt)
        if not mine.update(progress=progress, updated_at=timezone.now()):
            return False
        run = mine.select_related("system").first()
        if run is None:
            return False
        publish("run", **run_news(run))
        return run.cancel_requested_at is None


def runs_reap() -> int:
    """Find runs whose worker is silent and runs that no worker took. Returns how many.

    Called by two processes that share nothing but Postgres; one of them is enough.
    """
    silent = timedelta(seconds=settings.WEIR_RUN_SILENCE_S)
    reaped = 0
    with transaction.atomic():
        # The database's clock decides: it also wrote the heartbeats.
        for row in (
            Run.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
            .select_related("system")
            .filter(state=RunState.RUNNING, heartbeat_at__lt=Now() - silent)
        ):
            logger.warning("%s: worker %s fell silent", row, row.worker)
            _retry_or_fail(row, "worker_lost", f"The worker {row.worker} stopped answering.")
            reaped += 1
        # `no_key`: the commit of a row that names a run holds the run's key while it is checked; a
        # process frozen there would keep the run from being sent as long as it lives.
        unsent = Run.objects.select_for_update(skip_locked=True, no_key=True).filter(
            Q(sent_at=None) | Q(sent_at__lt=Now() - silent), state=RunState.QUEUED
        )
        for row in unsent:
            # The message may be lost or only late; a second one does no harm: the claim is atomic.
            Run.objects.filter(pk=row.pk).update(sent_at=Now())
            _send(row)
            reaped += 1
    return reaped
