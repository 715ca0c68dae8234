"""What is frozen of a topic's publishers, and what is refused."""

import json
import os
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from apps.catalog.models import Publisher
from apps.common.errors import ApplicationError, Conflict
from apps.correlation.selectors.measured import measured_of
from apps.correlation.selectors.recordings import recordings as all_recordings
from apps.correlation.services import correlation_request
from apps.runs.services.computations import run_job_inputs
from apps.runs.services.gateway import JobFailed
from apps.systems.models import System
from apps.telemetry.domain.publisher_times import pack
from apps.telemetry.models import PublisherTimes
from tests.at_once import at_once
from tests.factories.bay import QUAY, Bay, heard, make_bay
from tests.factories.publishers_sent import publishers_sent
from weir.codec.correlation import snapshot_from_json
from weir.correlation import answer as kernel
from weir.correlation.activity import messages_of
from weir.kernel import Call

pytestmark = pytest.mark.django_db


def ask(bay: Bay, **wanted: Any) -> Any:
    return correlation_request(system=bay.system, actor=None, topic=bay.topic, **wanted)


def test_moments_of_the_topics_publishers_in_the_catalogue_are_frozen(bay: Bay) -> None:
    first = heard(bay, [*QUAY, "gauge", "stranger"], **{"pier-1": 40})
    snapshot = snapshot_from_json(bytes(ask(bay).snapshot.payload))
    activity = snapshot.activity
    assert activity is not None
    assert activity.names == QUAY
    assert activity.starts.tolist() == [0, 20, 40, 60, 80]
    assert activity.at_s[20:40].tolist() == [first + 5 * burst for burst in range(20)]
    assert activity.since_s == first
    assert activity.until_s >= first + 95
    assert snapshot.untimed == 1


def test_messages_are_counted_where_moments_are_not(bay: Bay) -> None:
    """Bursts of several messages are one moment each, and who sends too often still sends."""
    first = int(timezone.now().timestamp()) - 120 + 0.4321
    times = [first + 5.0137 * burst for burst in range(20)]
    # An agent gives the moment of a burst that it saw whole.
    for at_s in times:
        PublisherTimes.objects.create(
            broker=bay.broker,
            at=datetime.fromtimestamp(at_s + 1, UTC),
            payload=pack(
                {"quay-1": (6, at_s), "quay-2": (1, at_s), "pier-1": (40, None), "x": (9, None)},
                received_s=at_s + 1,
            ),
            unreported=0,
        )
    run = ask(bay)
    snapshot = snapshot_from_json(bytes(run.snapshot.payload))
    assert snapshot.activity is not None
    assert snapshot.activity.names == ("quay-1", "quay-2")
    assert messages_of(snapshot.activity).tolist() == [120, 20]
    assert (snapshot.untimed, snapshot.untimed_messages) == (1, 800)
    call = Call(method=run.method, parameters=run.parameters, seed=run.seed)
    answer = json.loads(kernel.answer(bytes(run.snapshot.payload), call))
    assert answer["messages"] == 120 + 20 + 800


def test_a_wrong_clock_is_no_sign_of_sending_often(bay: Bay) -> None:
    now_s = timezone.now().timestamp()
    reported = {"quay-1": (1, now_s - 7200), "quay-2": (1, now_s - 7200), "pier-1": (40, None)}

    def row() -> None:
        PublisherTimes.objects.create(
            broker=bay.broker,
            at=timezone.now(),
            payload=pack(reported, received_s=now_s),
            unreported=0,
        )

    row()
    with pytest.raises(Conflict, match="2 of them are at brokers whose clocks are wrong"):
        ask(bay)
    reported["quay-1"] = (1, now_s - 1)
    row()
    snapshot = snapshot_from_json(bytes(ask(bay).snapshot.payload))
    assert (snapshot.untimed, snapshot.wrong_clock) == (1, 1)


def test_what_agents_leave_out_and_what_is_too_much_is_frozen_beside(
    bay: Bay, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = float(int(timezone.now().timestamp()))
    times = [now_s - 60 + second for second in range(10)]
    publishers_sent(bay.broker, {"quay-1": times, "quay-2": times}, unreported=95_000)
    monkeypatch.setattr(
        "apps.correlation.services.computation.measured_of",
        partial(measured_of, most_moments=8),
    )
    snapshot = snapshot_from_json(bytes(ask(bay).snapshot.payload))
    assert snapshot.activity is not None
    assert (snapshot.shortened, snapshot.unreported) == (True, 95_000)
    assert snapshot.activity.since_s == times[-4]


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_the_system_while_times_are_read(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bay = make_bay()
    heard(bay)

    def read(*args: Any, **wanted: Any) -> Any:
        def another() -> None:
            with transaction.atomic():
                System.objects.select_for_update(nowait=True).get(pk=bay.system.pk)

        at_once(another)
        return measured_of(*args, **wanted)

    monkeypatch.setattr("apps.correlation.services.computation.measured_of", read)
    assert ask(bay).state == "queued"


def test_only_the_last_minutes_are_searched(bay: Bay) -> None:
    first = heard(bay)
    snapshot = snapshot_from_json(bytes(ask(bay, minutes=1.0).snapshot.payload))
    assert snapshot.activity is not None
    assert snapshot.activity.since_s > first + 30


def test_a_refusal_says_why_nothing_is_measured(bay: Bay) -> None:
    with pytest.raises(Conflict, match="No agent named one of the 7 publishers") as refusal:
        ask(bay)
    assert refusal.value.code == "not_measured"
    heard(bay, ["gauge"], **{"quay-1": 40, "quay-2": 40})
    with pytest.raises(Conflict, match="too often for their moments"):
        ask(bay)
    Publisher.objects.filter(topic=bay.topic).delete()
    with pytest.raises(Conflict, match="no publisher in the catalogue"):
        ask(bay)


def test_a_recording_is_named_with_its_size_and_read_where_it_lies(bay: Bay, recordings) -> None:
    run = ask(bay, source="recording", recording="day.parquet", within_s=0.2)
    source = json.loads(bytes(run.snapshot.payload))["source"]
    assert (source["name"], source["bytes"]) == ("day.parquet", 4)
    assert run.parameters["within_s"] == 0.2
    assert run_job_inputs(run) == {"recording": (recordings / "day.parquet").as_uri()}


def test_a_recording_that_was_changed_since_is_not_read(bay: Bay, recordings) -> None:
    run = ask(bay, source="recording", recording="day.parquet")
    os.utime(recordings / "day.parquet", (1, 1))
    with pytest.raises(JobFailed, match="was changed since"):
        run_job_inputs(run)
    (recordings / "day.parquet").unlink()
    with pytest.raises(JobFailed, match="is gone"):
        run_job_inputs(run)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.parquet",
        "/etc/passwd",
        "night.parquet",
        ".hidden.parquet",
        "",
        "a\0b.parquet",
        "notes.txt",
        ".",
        "x" * 300,
    ],
)
def test_no_other_file_is_a_recording(bay: Bay, recordings, name: str) -> None:
    (recordings.parent / "secret.parquet").write_bytes(b"PAR1")
    (recordings / ".hidden.parquet").write_bytes(b"PAR1")
    (recordings / "notes.txt").write_text("no recording")
    with pytest.raises(ApplicationError) as refusal:
        ask(bay, source="recording", recording=name)
    assert [error.field for error in refusal.value.errors] == ["recording"]


def test_a_folder_of_files_is_one_recording(recordings, settings: Any) -> None:
    week = recordings / "week"
    (week / "day=1").mkdir(parents=True)
    (week / "day=1" / "a.parquet").write_bytes(b"12345")
    (week / "b.parquet").write_bytes(b"123")
    (week / "_temporary.parquet").write_bytes(b"9" * 99)
    (recordings / "empty").mkdir()
    (recordings / os.fsdecode(b"\xff.parquet")).write_bytes(b"a name that nobody can write")
    assert {(one.name, one.bytes) for one in all_recordings()} == {("week", 8), ("day.parquet", 4)}
    settings.WEIR_RECORDINGS_DIR = recordings / "nowhere"
    assert all_recordings() == []


def test_names_are_frozen_as_they_are(db: None) -> None:
    names = ('quay "north"', "quay's/1", "Kai-Ölhafen", "岸壁-1")
    bay = make_bay(names=names)
    heard(bay, names)
    snapshot = snapshot_from_json(bytes(ask(bay).snapshot.payload))
    assert snapshot.activity is not None
    assert snapshot.activity.names == tuple(sorted(names))
