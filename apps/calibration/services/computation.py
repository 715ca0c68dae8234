"""Define fits of the resource models as a kind of computation: what is frozen and stored."""

import json
import math
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.calibration.models import Coefficient, Fit, FitCase
from apps.calibration.selectors import fit_document, settings_of
from apps.common.errors import ApplicationError
from apps.common.formatting import counted, duration
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.runs.services.computations import next_number
from apps.systems.models import System
from apps.telemetry.models import KEEP_SAMPLES

KIND = "calibration"
METHOD = "least_squares"
WINDOW_S = 10.0
MINUTE_S = 60
MOST_WINDOWS = 1440
"""Of sums by minute: a day's minutes, and of a month half hours."""
SPARK_SAMPLES = 20_000
"""From so many samples on the records are spread over Spark's tasks; below one task is faster."""


def freeze(
    system: System,
    *,
    minutes: float = 30.0,
    window_s: float | None = None,
    engine: str | None = None,
    until: datetime | None = None,
) -> Question:
    """Freeze the telemetry of the last minutes; of more than those it is kept for, sums by minute.

    `window_s` None chooses 10 s, of sums as many minutes as make MOST_WINDOWS at most. `engine`
    `local` or `spark`; None chooses by the number of samples. Raises ApplicationError when nothing
    was measured, or nothing that a resource of the system could be fitted to.
    """
    end = until or timezone.now()
    by_minute = minutes * 60.0 > KEEP_SAMPLES.total_seconds()
    if by_minute:
        end = end.replace(second=0, microsecond=0)
        minutes = math.ceil(minutes)
        window_s = _whole_minutes(minutes, window_s)
    elif window_s is None:
        window_s = WINDOW_S
    if window_s > minutes * 60.0:
        message = f"must be at most {minutes * 60.0:,g}: that long ago it begins"
        raise ApplicationError.of_field("window_s", message)
    since = end - timedelta(minutes=minutes)
    payload, samples = fit_document(
        system,
        settings=settings_of(system),
        since=since,
        until=end,
        window_s=window_s,
        by_minute=by_minute,
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
            f"No agent of {system} measured anything in the last {duration(minutes * 60)}. "
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


def _whole_minutes(minutes: float, window_s: float | None) -> float:
    """Return the length of windows that sums by minute have. Raises ApplicationError."""
    least_s = MINUTE_S * math.ceil(minutes / MOST_WINDOWS)
    if window_s is None:
        return float(least_s)
    if window_s % MINUTE_S or window_s < least_s:
        message = (
            f"must be a multiple of {MINUTE_S} and at least {least_s:,} for {minutes:,g} minutes"
        )
        raise ApplicationError.of_field("window_s", message)
    return window_s


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
    measured = duration((fit.until - fit.since).total_seconds())
    return f"{fit} has {cases}, fitted to {measured} of telemetry."


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
