"""Define the search for publishers that burst together as a kind of computation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.catalog.models import Topic
from apps.common.errors import ApplicationError, Conflict
from apps.correlation.domain.frozen import frozen, measured_bytes, recording_bytes
from apps.correlation.domain.sentences import analysis_sentence, nobody_measured
from apps.correlation.models import CorrelationAnalysis, Source
from apps.correlation.selectors.measured import MOST_MINUTES, measured_of
from apps.correlation.selectors.recordings import recording_of
from apps.correlation.services.store import check_belongs, plain_of, store_rows
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.runs.services.gateway import JobFailed
from apps.systems.models import System
from weir import __version__

KIND = "correlation"
METHOD = "coincidences"


def freeze(
    system: System,
    *,
    topic: Topic,
    source: str = Source.MEASURED,
    minutes: float = MOST_MINUTES,
    recording: str = "",
    within_s: float = 0.05,
    least_share: float = 0.5,
    smallest_group: int = 2,
    note: str = "",
    until: datetime | None = None,
) -> Question:
    """Freeze what agents measured of the topic's publishers in the last minutes, or which recording
    is searched. Raises Conflict `not_measured`, ApplicationError that names the field."""
    if source == Source.RECORDING:
        payload = _recorded(topic, recording)
    else:
        payload = _measured(topic, minutes, until or timezone.now())
    return Question(
        payload=payload,
        method=METHOD,
        parameters={
            "within_s": within_s,
            "least_share": least_share,
            "smallest_group": smallest_group,
            "false_groups": 0.01,
        },
        note=note,
    )


def _measured(topic: Topic, minutes: float, until: datetime) -> bytes:
    measured = measured_of(topic, minutes=minutes, until=until)
    since_s = measured.since_s
    if since_s is None:
        raise Conflict(
            "not_measured",
            nobody_measured(
                topic=topic.name,
                publishers=measured.publishers,
                heard=len(measured.heard),
                minutes=minutes,
            ),
        )
    return measured_bytes(
        topic.name,
        measured.times,
        since_s=since_s,
        # Clocks of brokers may be ahead of this one.
        until_s=max(until.timestamp(), measured.until_s or since_s),
        untimed=measured.untimed,
    )


def _recorded(topic: Topic, name: str) -> bytes:
    recording = recording_of(name)
    if recording is None:
        raise ApplicationError.of_field(
            "recording", f'There is no recording "{name}" in the folder of recordings.'
        )
    return recording_bytes(
        topic.name, name=name, size=recording.bytes, modified_s=recording.modified_s
    )


def job_inputs(run: Run, row: None) -> Mapping[str, Any]:
    """Return where the recording lies; nothing where the moments are frozen themselves. Raises
    JobFailed where it is not what was asked about any more."""
    source = frozen(bytes(run.snapshot.payload))["source"]
    if source["kind"] != Source.RECORDING:
        return {}
    name = source["name"]
    recording = recording_of(name)
    if recording is None:
        raise JobFailed(f"The recording {name} is gone from the folder of recordings.")
    if (recording.bytes, recording.modified_s) != (source["bytes"], source["modified_s"]):
        raise JobFailed(f"The recording {name} was changed since it was asked about. Ask again.")
    return {"recording": recording.uri}


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to what was frozen; store it with its suggestions."""
    plain = plain_of(answer)
    check_belongs(run, frozen(bytes(run.snapshot.payload)), plain)
    return Answer(
        payload=answer,
        kernel_version=__version__,
        progress={"done": plain["publishers"], "total": plain["publishers"]},
        row=store_rows(run, plain),
    )


def describe(analysis: CorrelationAnalysis) -> str:
    """Describe in a sentence what was suggested."""
    sentence = analysis_sentence(
        topic=analysis.topic_name,
        publishers=analysis.publishers,
        judged=analysis.judged,
        groups=analysis.groups,
    )
    return f"{analysis} {sentence}"


CORRELATION = Computation(
    kind=KIND,
    title="Publishers that burst together",
    noun="correlation analysis",
    address="/api/v1/correlation-analyses",
    job="correlate",
    model=CorrelationAnalysis,
    freeze=freeze,
    store=store,
    job_inputs=job_inputs,
    topic=KIND,
    describe=describe,
)
