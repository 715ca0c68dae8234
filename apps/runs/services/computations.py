"""Start computations of any kind, store their answers, cancel them and run them again.

Each app registers the differences between the kinds (`Computation`); everything else is here:
snapshot, number, run, audit and events.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max

from apps.accounts.models import User
from apps.audit.services import record
from apps.common.errors import Conflict
from apps.common.events import publish
from apps.runs.models import Run, Snapshot
from apps.runs.selectors import Computation, computation_of
from apps.runs.services.gateway import JobFailed
from apps.runs.services.runs import (
    run_cancel,
    run_finish,
    run_hold,
    run_open,
    run_repeat,
    snapshot_freeze,
)
from apps.systems.models import System
from weir.errors import WeirError

METHOD_LENGTH = Run._meta.get_field("method").max_length or 0


@transaction.atomic
def computation_start(kind: str, *, system: System | None, actor: User | None, **asked: Any) -> Run:
    """Freeze what is asked and open a run on it; where the kind has its row first, make that,
    too.

    `asked`: what `freeze` of the kind takes. Raises ApplicationError naming what does not fit.
    """
    computation = computation_of(kind)
    locked = None
    if system is not None:
        # The system's row is locked while something of it is frozen or numbered: one at a time.
        locked = System.objects.select_for_update().get(pk=system.pk)
    question = computation.freeze(locked, **asked)
    snapshot = question.payload
    if not isinstance(snapshot, Snapshot):
        snapshot = snapshot_freeze(
            kind=kind, payload=snapshot, system=locked, demand=question.demand
        )
    run = run_open(
        kind=kind,
        snapshot=snapshot,
        method=question.method[:METHOD_LENGTH],
        parameters=dict(question.parameters),
        seed=question.seed,
        time_limit_s=question.time_limit_s,
        actor=actor,
        starts_from=question.starts_from,
        note=question.note,
    )
    if question.row is not None:
        number = next_number(computation.model, run)
        row = computation.model._default_manager.create(
            system=locked, number=number, run=run, author=actor, **question.row
        )
        audited(computation, row, actor, "start", after=dict(question.audited or {}))
    return run


def next_number(model: type[Any], run: Run) -> int:
    """Return the number of the next row of the run's system; the run's own where there is none."""
    if run.system_id is None:
        return run.pk
    # The system's row is the counter's lock: two runs that end together get two numbers.
    System.objects.select_for_update().get(pk=run.system_id)
    rows = model._default_manager.filter(system=run.system_id)
    return int(rows.aggregate(last=Max("number"))["last"] or 0) + 1


def _of(computation: Computation, run: Run) -> Any:
    """Return the locked row that this run is the latest of; None where there is none."""
    return (
        computation.model._default_manager.select_for_update(of=("self",))
        .select_related("system", "run__snapshot")
        .filter(run=run)
        .first()
    )


@transaction.atomic
def run_job_inputs(run: Run) -> Mapping[str, Any]:
    """Return what the job needs besides its snapshot. Raises JobFailed where nobody waits for
    it."""
    computation = computation_of(run.kind)
    row = _of(computation, run) if computation.row_first else None
    if computation.row_first and row is None:
        noun = computation.noun
        raise JobFailed(
            f"This run's {noun} was deleted, or has a newer run. Start the {noun} from its page."
        )
    return computation.job_inputs(run, row)


@transaction.atomic
def run_store(run: Run, answer: bytes) -> None:
    """Store what a run answered, and end it.

    Raises RunTakenAway and CancelWasAsked before anything is kept, ValueError for an answer that is
    not this run's.
    """
    computation = computation_of(run.kind)
    # Lock the row before the run: storing early answers locks them in the same order.
    row = _of(computation, run) if computation.row_first else None
    run_hold(run)
    if computation.row_first and row is None:
        raise WeirError(f"{run}: its {computation.noun} was deleted while it ran")
    run.refresh_from_db(fields=["progress"])
    kept = computation.store(run, row, answer)
    run_finish(
        run=run,
        payload=kept.payload,
        kernel_version=kept.kernel_version,
        infeasible_because=kept.infeasible_because or None,
        progress=dict(kept.progress),
    )
    if kept.row is not None:
        kept.row.run.refresh_from_db(fields=["state"])
        publish_row(computation, kept.row)


def publish_row(computation: Computation, row: Any) -> None:
    """Publish to browsers that this row changed."""
    if computation.news is not None:
        publish(computation.topic, **computation.news(row))
        return
    system = row.system.public_id if row.system else None
    publish(computation.topic, id=row.public_id, system=system)


def audited(
    computation: Computation, row: Any, actor: User | None, action: str, **values: Any
) -> None:
    """Publish to browsers what was done to the row, and record it where the kind has audit entries
    of its own."""
    if computation.audited_as:
        record(
            actor=actor,
            action=action,
            object_kind=computation.audited_as,
            object_id=row.public_id,
            object_name=computation.named(row),
            system_id=row.system.public_id if row.system else None,
            model_version=row.run.snapshot.model_version,
            **values,
        )
    publish_row(computation, row)


@transaction.atomic
def computation_cancel(*, run: Run, actor: User, reason: str = "") -> None:
    """Cancel the computation of this run; answers so far stay. Raises Conflict."""
    computation = computation_of(run.kind)
    row = _of(computation, run) if computation.row_first else None
    run_cancel(run=run, actor=actor, reason=reason)
    if row is not None:
        row.run.refresh_from_db(fields=["state"])
        audited(computation, row, actor, "cancel", reason=reason)


@transaction.atomic
def run_again(*, run: Run, actor: User | None) -> Run:
    """Run the same question on the same snapshot again, by the same method, from the same start.

    Where the kind has its row first, that begins anew with the run. Raises Conflict:
    `run_is_active`, `run_is_past` (the row has a newer run, or was deleted).
    """
    computation = computation_of(run.kind)
    row = _of(computation, run) if computation.row_first else None
    if computation.row_first and row is None:
        noun = computation.noun
        raise Conflict(
            "run_is_past",
            f"{run} is not the latest run of its {noun}, or that was deleted. Start the {noun} "
            "again from its page.",
        )
    again = run_repeat(run=run, actor=actor)
    if row is not None:
        if computation.clear is not None:
            computation.clear(row)
        row.run = again
        row.save()
        audited(computation, row, actor, "rerun")
    return again
