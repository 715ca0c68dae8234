"""Compare several methods on one frozen model: results so far, and runs of the missing ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.allocations.models import Allocation
from apps.common.errors import ApplicationError, Conflict
from apps.runs.models import Run
from apps.runs.selectors import run_rows
from apps.runs.services.computations import computation_start
from weir.lifecycle.runs import ENDED, RunState
from weir.optimizers import methods


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Hold the latest result of one method on a snapshot."""

    method: str
    title: str
    allocation: Allocation | None
    """The allocation of its latest run that found one; the allocation on display counts as the
    latest."""
    run: Run | None
    """Its latest run, where that is newer and has found nothing (yet)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Hold every method that is installed or was used, the best allocation first."""

    standings: Sequence[Standing]
    upper_bound: float | None
    """The lowest bound that any allocation of the snapshot has proven: it holds for all of them."""


def allocation_side_by_side(allocation: Allocation, rows: QuerySet[Allocation]) -> SideBySide:
    """Return the latest allocation of each method on the same snapshot. `rows` says how to read
    them."""
    snapshot = allocation.run.snapshot
    same = rows.filter(
        system=allocation.system_id, run__snapshot__content_hash=snapshot.content_hash
    )
    by_method = {row.method: row for row in same.order_by("method", "-id").distinct("method")}
    by_method[allocation.method] = allocation
    latest = {
        row.method: row for row in _runs(allocation).order_by("method", "-id").distinct("method")
    }
    titles = {name: optimizer.TITLE for name, optimizer in methods().items()}
    standings = []
    for name in dict.fromkeys([*titles, *by_method]):
        run, answer = latest.get(name), by_method.get(name)
        if run is not None and (
            run.state == RunState.SUCCEEDED or (answer is not None and run.pk < answer.run_id)
        ):
            run = None
        standings.append(
            Standing(method=name, title=titles.get(name, name), allocation=answer, run=run)
        )
    bounds = same.filter(upper_bound__isnull=False).order_by("upper_bound")
    return SideBySide(
        standings=sorted(standings, key=_rank),
        upper_bound=bounds.values_list("upper_bound", flat=True).first(),
    )


def _rank(standing: Standing) -> tuple[float, str]:
    answer = standing.allocation
    return (-answer.utility if answer else float("inf"), standing.method)


def _runs(allocation: Allocation) -> QuerySet[Run]:
    """Return the runs that ask for an allocation of the same snapshot."""
    snapshot = allocation.run.snapshot
    return run_rows().filter(
        system=allocation.system_id,
        kind=allocation.run.kind,
        snapshot__content_hash=snapshot.content_hash,
    )


@transaction.atomic
def allocation_compare(
    *,
    allocation: Allocation,
    actor: User | None,
    names: Sequence[str] = (),
    time_limit_s: float | None = None,
) -> list[Run]:
    """Open a run of each of these methods on the allocation's own snapshot.

    Default parameters, the allocation's seed, a cold start: what differs is the method. No names:
    every method that has no allocation of this snapshot yet and is not being computed.
    """
    known = methods()
    for at, name in enumerate(names):
        if name not in known:
            message = f'no optimizer "{name}"; known are {", ".join(known)}'
            raise ApplicationError.of_field(
                f"methods[{at}]", message, code="unknown_method", detail=message
            )
    # Two people who click at once must not start everything twice.
    Run.objects.select_for_update().get(pk=allocation.run_id)
    runs = _runs(allocation)
    active = set(runs.exclude(state__in=list(ENDED)).values_list("method", flat=True))
    done = (
        set()
        if names
        else set(runs.filter(state=RunState.SUCCEEDED).values_list("method", flat=True))
    )
    missing = [name for name in dict.fromkeys(names or known) if name not in active | done]
    if not missing:
        raise Conflict(
            "nothing_to_start",
            "Every method asked for has its allocation of this snapshot or is being computed.",
        )
    return [
        computation_start(
            allocation.run.kind,
            system=allocation.system,
            actor=actor,
            snapshot=allocation.run.snapshot,
            method=name,
            seed=allocation.run.seed,
            time_limit_s=time_limit_s,
        )
        for name in missing
    ]
