"""Ask for a fit of the resource models, and keep what came out."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.accounts.models import User
from apps.calibration.models import Coefficient, Fit, FitCase
from apps.calibration.selectors import fit_document, settings_of
from apps.common.errors import ApplicationError
from apps.common.events import publish
from apps.runs.models import Run
from apps.runs.services import run_finish, run_open, snapshot_freeze
from apps.runs.services.execute import run_execute
from apps.systems.models import System

KIND = "calibration"
TASK = "calibration.fit"
METHOD = "least_squares"
SPARK_SAMPLES = 20_000
"""From so many samples on the records are spread over Spark's tasks; below one task is faster."""


@transaction.atomic
def fit_request(
    *,
    system: System,
    actor: User | None,
    minutes: float = 30.0,
    window_s: float = 10.0,
    engine: str | None = None,
    until: datetime | None = None,
) -> Run:
    """Freeze the telemetry of the last minutes and open a run on it.

    `engine` `local` or `spark`; None chooses by the number of samples. Raises ApplicationError
    when nothing was measured, or nothing that a resource of the system could be fitted to.
    """
    locked = System.objects.select_for_update().get(pk=system.pk)
    end = until or timezone.now()
    since = end - timedelta(minutes=minutes)
    payload, samples = fit_document(
        locked, settings=settings_of(locked), since=since, until=end, window_s=window_s
    )
    head = json.loads(payload.partition(b"\n")[0])
    if not head["cases"]:
        raise ApplicationError(
            "nothing_to_fit",
            f"No resource of {locked} can be measured ({', '.join(locked.resources)}), or no topic "
            "passes a broker. CPU, storage and network are told by the resource's name.",
            status=409,
        )
    if not samples:
        raise ApplicationError(
            "nothing_measured",
            f"No agent of {locked} measured anything in the last {minutes:g} minutes. "
            "Start the agents, let messages flow, and ask again.",
            status=409,
        )
    snapshot = snapshot_freeze(kind=KIND, payload=payload, system=locked)
    chosen = engine or ("spark" if samples >= SPARK_SAMPLES else "local")
    return run_open(
        task=TASK,
        snapshot=snapshot,
        method=METHOD,
        parameters={
            "engine": chosen,
            "since": since.isoformat(),
            "until": end.isoformat(),
            "window_s": window_s,
            "samples": samples,
        },
        seed=0,
        time_limit_s=None,
        actor=actor,
    )


def fit_solve(*, run_id: int) -> None:
    """One attempt of a fit, on Spark."""
    run_execute(run_id=run_id, task=TASK, job="fit", store=fit_store)


@transaction.atomic
def fit_store(run: Run, answer: bytes) -> None:
    """Check that the answer belongs to the run's snapshot; keep it as rows and end the run."""
    plain = json.loads(answer)
    if plain["snapshot_hash"] != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {plain['snapshot_hash']}, not to its snapshot")
    assert run.system is not None
    run_finish(
        run=run,
        payload=answer,
        kernel_version=plain["kernel_version"],
        infeasible_because=None,
        progress={},
    )
    # The system's row is the counter's lock: two runs that end together get two numbers.
    system = System.objects.select_for_update().get(pk=run.system.pk)
    last = Fit.objects.filter(system=system).order_by("-number").first()
    fit = Fit.objects.create(
        system=system,
        run=run,
        number=last.number + 1 if last else 1,
        since=_time(run.parameters["since"]),
        until=_time(run.parameters["until"]),
        window_s=run.parameters["window_s"],
    )
    for case in plain["cases"]:
        _store_case(fit, case)
    publish("calibration", id=fit.public_id, system=system.public_id)


def _time(text: str) -> datetime:
    found = parse_datetime(text)
    assert found is not None
    return found


def _store_case(fit: Fit, plain: dict[str, Any]) -> None:
    rows = plain.pop("coefficients")
    case = FitCase.objects.create(fit=fit, **plain)
    Coefficient.objects.bulk_create(Coefficient(case=case, **row) for row in rows)
