"""Define the search for publishers that burst together as a kind of computation."""

from collections.abc import Mapping
from typing import Any

from apps.catalog.models import Topic
from apps.common.errors import ApplicationError, Conflict
from apps.correlation.domain.sentences import analysis_sentence, nobody_measured
from apps.correlation.models import CorrelationAnalysis, Source
from apps.correlation.selectors.measured import MOST_MINUTES, Measured, measured_of
from apps.correlation.selectors.recordings import recording_of
from apps.correlation.services.store import check_belongs, store_rows
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.runs.services.gateway import JobFailed
from apps.systems.models import System
from weir import __version__
from weir.codec.correlation import (
    METHOD,
    CorrelationSnapshot,
    answer_from_json,
    search_to_dict,
    snapshot_bytes,
    snapshot_from_json,
)
from weir.codec.correlation import Recording as Frozen
from weir.correlation.activity import Activity, Search

KIND = "correlation"
DEFAULT = Search()


def prepare(
    topic: Topic, *, source: str, minutes: float = MOST_MINUTES, recording: str = ""
) -> bytes:
    """Return the snapshot of what agents measured of the topic's publishers in the last minutes, or
    of which recording is searched.

    It may take seconds, so call it before the system is locked. Raises Conflict `not_measured`,
    ApplicationError that names the field.
    """
    if source == Source.RECORDING:
        return snapshot_bytes(_recorded(topic, recording))
    return snapshot_bytes(_measured(topic, minutes, measured_of(topic, minutes=minutes)))


def freeze(
    system: System,
    *,
    prepared: bytes,
    within_s: float = DEFAULT.within_s,
    least_share: float = DEFAULT.least_share,
    smallest_group: int = DEFAULT.smallest_group,
    note: str = "",
) -> Question:
    """Return the question of a snapshot that `prepare` made."""
    search = Search(within_s=within_s, least_share=least_share, smallest_group=smallest_group)
    return Question(
        payload=prepared,
        method=METHOD,
        parameters=search_to_dict(search),
        note=note,
    )


def _measured(topic: Topic, minutes: float, measured: Measured) -> CorrelationSnapshot:
    since_s, until_s = measured.since_s, measured.until_s
    if since_s is None or until_s is None:
        raise Conflict(
            "not_measured",
            nobody_measured(
                topic=topic.name,
                publishers=measured.publishers,
                heard=measured.heard,
                wrong_clock=measured.wrong_clock,
                unreported=measured.unreported,
                minutes=minutes,
            ),
        )
    activity = Activity(
        names=measured.names,
        starts=measured.starts,
        at_s=measured.at_s,
        since_s=since_s,
        # Clocks of brokers may be ahead of this one.
        until_s=max(measured.until.timestamp(), until_s),
        messages=measured.sent,
    )
    return CorrelationSnapshot(
        topic=topic.name,
        topic_id=str(topic.public_id),
        activity=activity,
        untimed=measured.untimed,
        untimed_messages=measured.untimed_messages,
        wrong_clock=measured.wrong_clock,
        unreported=measured.unreported,
        shortened=measured.shortened,
    )


def _recorded(topic: Topic, name: str) -> CorrelationSnapshot:
    recording = recording_of(name)
    if recording is None:
        raise ApplicationError.of_field(
            "recording", f'There is no recording "{name}" in the folder of recordings.'
        )
    as_it_is = Frozen(name=name, size_bytes=recording.bytes, modified_s=recording.modified_s)
    return CorrelationSnapshot(topic=topic.name, topic_id=str(topic.public_id), recording=as_it_is)


def job_inputs(run: Run, row: None) -> Mapping[str, Any]:
    """Return where the recording lies; nothing where the moments are frozen themselves. Raises
    JobFailed where it is not what was frozen any more."""
    frozen = snapshot_from_json(bytes(run.snapshot.payload)).recording
    if frozen is None:
        return {}
    recording = recording_of(frozen.name)
    if recording is None:
        raise JobFailed(f"The recording {frozen.name} is gone from the folder of recordings.")
    if (recording.bytes, recording.modified_s) != (frozen.size_bytes, frozen.modified_s):
        raise JobFailed(
            f"The recording {frozen.name} was changed since this run was opened. Search again."
        )
    return {"recording": recording.uri}


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to what was frozen; store it with its suggestions."""
    snapshot = snapshot_from_json(bytes(run.snapshot.payload))
    read = answer_from_json(answer)
    check_belongs(run, snapshot, read)
    publishers = read.suggested.publishers
    return Answer(
        payload=answer,
        kernel_version=__version__,
        progress={"done": publishers, "total": publishers},
        row=store_rows(run, snapshot, read),
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
