"""Define fits of the resource models as a kind of computation: what is frozen and stored."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.calibration.models import Coefficient, Fit, FitCase
from apps.calibration.selectors import fit_document, settings_of
from apps.common.errors import ApplicationError
from apps.common.formatting import counted
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.runs.services.computations import next_number
from apps.systems.models import System

KIND = "calibration"
METHOD = "least_squares"
SPARK_SAMPLES = 20_000
"""From so many samples on the records are spread over Spark's tasks; below one task is faster."""


def freeze(
    system: System,
    *,
    minutes: float = 30.0,
    window_s: float = 10.0,
    engine: str | None = None,
    until: datetime | None = None,
) -> Question:
    """Freeze the telemetry of the last minutes.

    `engine` `local` or `spark`; None chooses by the number of samples. Raises ApplicationError
    when nothing was measured, or nothing that a resource of the system could be fitted to.
    """
    end = until or timezone.now()
    since = end - timedelta(minutes=minutes)
    payload, samples = fit_document(
        system, settings=settings_of(system), since=since, until=end, window_s=window_s
    )
    head = json.loads(payload.partition(b"\n")[0])
    if not head["cases"]:
        raise ApplicationError(
            "nothing_to_fit",
            f"No resource of {system} can be measured ({', '.join(system.resources)}), or no topic "
            "passes a broker. CPU, storage and network are told by the resource's name.",
            status=409,
        )
    if not samples:
        raise ApplicationError(
            "nothing_measured",
            f"No agent of {system} measured anything in the last {minutes:g} minutes. "
            "Start the agents, let messages flow, and ask again.",
            status=409,
        )
    chosen = engine or ("spark" if samples >= SPARK_SAMPLES else "local")
    return Question(
        payload=payload,
        method=METHOD,
        parameters={
            "engine": chosen,
            "since": since.isoformat(),
            "until": end.isoformat(),
            "window_s": window_s,
            "samples": samples,
        },
    )


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; keep it as rows."""
    plain = json.loads(answer)
    if plain["snapshot_hash"] != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {plain['snapshot_hash']}, not to its snapshot")
    assert run.system is not None
    fit = Fit.objects.create(
        system=run.system,
        run=run,
        number=next_number(Fit, run),
        since=_time(run.parameters["since"]),
        until=_time(run.parameters["until"]),
        window_s=run.parameters["window_s"],
    )
    for case in plain["cases"]:
        _store_case(fit, case)
    return Answer(payload=answer, kernel_version=plain["kernel_version"], row=fit)


def _time(text: str) -> datetime:
    found = parse_datetime(text)
    assert found is not None
    return found


def _store_case(fit: Fit, plain: dict[str, Any]) -> None:
    rows = plain.pop("coefficients")
    case = FitCase.objects.create(fit=fit, **plain)
    Coefficient.objects.bulk_create(Coefficient(case=case, **row) for row in rows)


def describe(fit: Fit) -> str:
    """Describe the fit in a sentence."""
    cases = counted(FitCase.objects.filter(fit=fit).count(), "resource model")
    minutes = (fit.until - fit.since).total_seconds() / 60
    return f"{fit} has {cases}, fitted to {minutes:g} minutes of telemetry."


FIT = Computation(
    kind=KIND,
    title="Resource models",
    noun="fit",
    address="/api/v1/calibrations",
    job="fit",
    snapshot_type="application/jsonl",
    model=Fit,
    freeze=freeze,
    store=store,
    topic="calibration",
    describe=describe,
)
