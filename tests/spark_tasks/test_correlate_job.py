"""The job `correlate`: what was measured in one task, a recording over parts."""

import json
import os

import numpy as np
import pytest

from benchmarks.recordings import BEGAN_S, write_recording
from spark_tasks import entry
from tests.spark_tasks.house import House
from tests.spark_tasks.orders import order
from weir.codec.correlation import CorrelationSnapshot, Recording, snapshot_bytes
from weir.correlation import answer as kernel
from weir.correlation.activity import activity_of
from weir.kernel import Call

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def search(remote, folder, source, **asked):
    status = os.stat(source)
    frozen = {"size_bytes": status.st_size, "modified_s": status.st_mtime, **asked}
    recording = Recording(name=source.name, **frozen)
    with House() as house:
        answer = entry.run(
            remote=remote,
            job="correlate",
            tag="t",
            payload=snapshot_bytes(CorrelationSnapshot(topic="depth", recording=recording)),
            input_uri=(folder / "in").as_uri(),
            output_uri=(folder / "out").as_uri(),
            order=order(recording=source.as_uri(), progress_url=house.url, progress_token="secret"),
        )
    return json.loads(answer), house


def test_progress_arrives_and_a_recording_without_pairs_has_no_groups(spark_server, tmp_path):
    source = write_recording(
        tmp_path / "few.parquet", publisher=["a", "b"], at_s=[BEGAN_S, BEGAN_S + 9]
    )
    answer, house = search(spark_server, tmp_path, source)
    assert (answer["publishers"], answer["too_few"], answer["groups"]) == (2, 2, [])
    assert house.tokens == {"Bearer secret"}
    assert all(0 <= row["done"] <= row["total"] for row in house.rows)


@pytest.mark.parametrize("changed", [{"size_bytes": 7}, {"modified_s": 1.0}])
def test_recording_that_changed_since_is_refused(spark_server, tmp_path, changed):
    source = write_recording(
        tmp_path / "few.parquet", publisher=["a", "b"], at_s=[BEGAN_S, BEGAN_S + 9]
    )
    with pytest.raises(entry.JobError, match="has changed since this was started"):
        search(spark_server, tmp_path, source, **changed)


def test_what_was_measured_gets_the_answer_of_the_kernel(spark_server, tmp_path):
    chance = np.random.default_rng(4)
    bursts = np.sort(chance.uniform(0, 1800, 30))
    times = np.concatenate([bursts, bursts + 0.01, chance.uniform(0, 1800, 30)])
    activity = activity_of(["a", "b", "c"], np.repeat([0, 1, 2], 30), BEGAN_S + times)
    payload = snapshot_bytes(CorrelationSnapshot(topic="depth", activity=activity, untimed=4))
    answer = entry.run(
        remote=spark_server,
        job="correlate",
        tag="t",
        payload=payload,
        input_uri=(tmp_path / "in").as_uri(),
        output_uri=(tmp_path / "out").as_uri(),
        order=order(parameters={"within_s": 0.1}),
    )
    assert answer == kernel.answer(payload, Call(parameters={"within_s": 0.1}))
    assert [group["members"] for group in json.loads(answer)["groups"]] == [["a", "b"]]
