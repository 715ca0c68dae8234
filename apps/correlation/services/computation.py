"""Define the search for publishers that burst together as a kind of computation."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
from django.utils import timezone

from apps.catalog.models import Topic
from apps.common.errors import ApplicationError, Conflict
from apps.correlation.domain.sentences import analysis_sentence, nobody_measured
from apps.correlation.models import CorrelationAnalysis, Source
from apps.correlation.selectors.measured import MOST_MINUTES, measured_of
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


def freeze(
    system: System,
    *,
    topic: Topic,
    source: str = Source.MEASURED,
    minutes: float = MOST_MINUTES,
    recording: str = "",
    within_s: float = DEFAULT.within_s,
    least_share: float = DEFAULT.least_share,
    smallest_group: int = DEFAULT.smallest_group,
    note: str = "",
    until: datetime | None = None,
) -> Question:
    """Freeze what agents measured of the topic's publishers in the last minutes, or which recording
    is searched. Raises Conflict `not_measured`, ApplicationError that names the field."""
    if source == Source.RECORDING:
        snapshot = _recorded(topic, recording)
    else:
        snapshot = _measured(topic, minutes, until or timezone.now())
    search = Search(within_s=within_s, least_share=least_share, smallest_group=smallest_group)
    return Question(
        payload=snapshot_bytes(snapshot),
        method=METHOD,
        parameters=search_to_dict(search),
        note=note,
    )


def _measured(topic: Topic, minutes: float, until: datetime) -> CorrelationSnapshot:
    measured = measured_of(topic, minutes=minutes, until=until)
    if not measured.times:
        raise Conflict(
            "not_measured",
            nobody_measured(
                topic=topic.name,
                publishers=measured.publishers,
                heard=len(measured.heard),
                minutes=minutes,
            ),
        )
    names = tuple(sorted(measured.times))
    times = [np.asarray(measured.times[name]) for name in names]
    at_s = np.concatenate(times)
    activity = Activity(
        names=names,
        starts=np.cumsum([0, *map(len, times)], dtype=np.int64),
        at_s=at_s,
        since_s=float(at_s.min()),
        # Clocks of brokers may be ahead of this one.
        until_s=max(until.timestamp(), float(at_s.max())),
    )
    return CorrelationSnapshot(topic=topic.name, activity=activity, untimed=measured.untimed)


def _recorded(topic: Topic, name: str) -> CorrelationSnapshot:
    recording = recording_of(name)
    if recording is None:
        raise ApplicationError.of_field(
            "recording", f'There is no recording "{name}" in the folder of recordings.'
        )
    as_it_is = Frozen(name=name, size_bytes=recording.bytes, modified_s=recording.modified_s)
    return CorrelationSnapshot(topic=topic.name, recording=as_it_is)


def job_inputs(run: Run, row: None) -> Mapping[str, Any]:
    """Return where the recording lies; nothing where the moments are frozen themselves. Raises
    JobFailed where it is not what was asked about any more."""
    frozen = snapshot_from_json(bytes(run.snapshot.payload)).recording
    if frozen is None:
        return {}
    recording = recording_of(frozen.name)
    if recording is None:
        raise JobFailed(f"The recording {frozen.name} is gone from the folder of recordings.")
    if (recording.bytes, recording.modified_s) != (frozen.size_bytes, frozen.modified_s):
        raise JobFailed(
            f"The recording {frozen.name} was changed since it was asked about. Ask again."
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
