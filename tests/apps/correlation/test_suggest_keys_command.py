"""`manage.py suggest_keys`: planted groups, both engines, recordings that are refused."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from django.core.management import call_command
from pyarrow import parquet

from apps.correlation.management.commands.suggest_keys import Command
from benchmarks.recordings import BEGAN_S, make_publishers, write_recording
from spark_tasks.recordings import messages_of


def suggest(recording, out, *options, topic="depth"):
    """Return exit status and standard error."""
    errors = io.StringIO()
    status = 0
    words = (str(recording), "--topic", topic, "--out", str(out), *options)
    try:
        call_command(Command(), *words, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue()


def groups_of(out, kind):
    answer = json.loads(out.read_bytes())
    return [group["members"] for group in answer["groups"] if group["kind"] == kind]


def test_planted_groups_are_suggested_and_equal_periods_are_not(tmp_path):
    planted = make_publishers(tmp_path / "in.parquet", publishers=1000, seed=5, row_group=7000)
    status, errors = suggest(tmp_path / "in.parquet", tmp_path / "out.json")
    assert status == 0, errors
    assert sorted(groups_of(tmp_path / "out.json", "event")) == sorted(planted.events)
    # 200 publishers send every minute; only those that share a phase are a group, and whoever has
    # that phase by chance is one of them.
    ((aligned,), (suggested,)) = planted.phases, groups_of(tmp_path / "out.json", "period")
    assert set(aligned) <= set(suggested)
    assert len(suggested) <= len(aligned) + 3
    answer = json.loads((tmp_path / "out.json").read_bytes())
    assert answer["messages"] == planted.rows
    assert (answer["publishers"], answer["periodic"]) == (1000, 200)


def test_other_topics_of_a_recording_are_left_out(tmp_path):
    bursts = [BEGAN_S + at for at in (1, 7.3, 19, 22.1, 40, 61.7, 70, 95.5, 120, 133)]
    rows = [
        (p, t, topic) for topic in ("a", "b") for p in (f"{topic}1", f"{topic}2") for t in bursts
    ]
    publisher, at_s, topics = (list(column) for column in zip(*rows, strict=True))
    source = write_recording(tmp_path / "in.parquet", publisher=publisher, at_s=at_s, topic=topics)
    assert suggest(source, tmp_path / "out.json", topic="b")[0] == 0
    answer = json.loads((tmp_path / "out.json").read_bytes())
    assert (answer["publishers"], answer["messages"]) == (2, 20)
    assert groups_of(tmp_path / "out.json", "event") == [["b1", "b2"]]
    status, errors = suggest(source, tmp_path / "none.json", topic="c")
    assert status == 2
    assert 'the recording has no message of "c"; it has those of "a", "b"' in errors


def test_wrong_parameter_is_status_2(tmp_path):
    status, errors = suggest(tmp_path / "in.parquet", tmp_path / "out", "--param", "within_s=0")
    assert status == 2
    assert errors.startswith("suggest_keys: within_s: ")


def test_messages_of_one_row_are_counted_and_take_no_room(tmp_path):
    rows = 2000
    source = write_recording(
        tmp_path / "in.parquet",
        publisher=["a", "b"] * (rows // 2),
        at_s=BEGAN_S + np.arange(rows) * 1.37,
        messages=np.full(rows, 1_000_000),
    )
    assert suggest(source, tmp_path / "out.json")[0] == 0
    answer = json.loads((tmp_path / "out.json").read_bytes())
    assert (answer["publishers"], answer["messages"]) == (2, 2_000_000_000)


def test_search_finer_than_the_times_of_a_recording_is_refused(tmp_path):
    chance = np.random.default_rng(7)
    at_s = BEGAN_S + np.floor(chance.uniform(0, 1800, 3000))
    who = [f"p{at}" for at in chance.integers(0, 300, len(at_s))]
    source = write_recording(tmp_path / "in.parquet", row_group=500, publisher=who, at_s=at_s)
    status, errors = suggest(source, tmp_path / "out.json")
    assert status == 2
    assert errors.startswith("suggest_keys: within_s: must be at least 2")
    assert suggest(source, tmp_path / "out.json", "--param", "within_s=2")[0] == 0
    # One finer row of another topic changes nothing, one of the same topic does.
    finer = {"publisher": ["x"], "at_s": [BEGAN_S + 0.123456]}
    for topic, expected in (("other", 2), ("depth", 0)):
        both = write_recording(
            tmp_path / "both.parquet",
            row_group=500,
            publisher=who + finer["publisher"],
            at_s=[*at_s.tolist(), *finer["at_s"]],
            topic=["depth"] * len(who) + [topic],
        )
        assert suggest(both, tmp_path / "out.json")[0] == expected


def test_recording_that_is_replaced_while_it_is_read_is_refused(tmp_path, monkeypatch):
    source, other = tmp_path / "in.parquet", tmp_path / "other.parquet"
    rows = {"publisher": ["a", "b"] * 50, "at_s": BEGAN_S + np.arange(100) * 1.37}
    write_recording(source, **rows)
    write_recording(other, publisher=["c", "d"] * 50, at_s=rows["at_s"] + 3e7)

    def replace_and_read(*what, **how):
        if other.exists():
            other.rename(source)
        return messages_of(*what, **how)

    monkeypatch.setattr("spark_tasks.grouping.messages_of", replace_and_read)
    status, errors = suggest(source, tmp_path / "out.json")
    assert (status, "in.parquet: the recording has changed" in errors) == (2, True), errors
    assert not (tmp_path / "out.json").exists()


def test_column_that_stands_twice_and_text_that_is_none_are_refused(tmp_path):
    times = pa.array([BEGAN_S, BEGAN_S + 1])
    twice = pa.Table.from_arrays(
        [pa.array(["a", "b"]), times, times], ["publisher", "at_s", "at_s"]
    )
    raw = pa.array([b"a\xff", b"b"]).view(pa.string())
    for table, sentence in (
        (twice, "at_s: the recording has several such columns"),
        (pa.table({"publisher": raw, "at_s": times}), "publisher: 1 row is not UTF-8"),
    ):
        parquet.write_table(table, tmp_path / "in.parquet")
        status, errors = suggest(tmp_path / "in.parquet", tmp_path / "out.json")
        assert (status, sentence in errors) == (2, True), errors


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_give_the_same_bytes(spark_server, tmp_path, settings):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    source, here, there = (tmp_path / name for name in ("in.parquet", "here", "there"))
    planted = make_publishers(source, publishers=3000, seed=6, row_group=20_000)
    assert suggest(source, here)[0] == 0
    status, errors = suggest(source, there, "--engine", "spark")
    assert status == 0, errors
    assert there.read_bytes() == here.read_bytes()
    assert len(groups_of(there, "event")) >= len(planted.events)
    assert len(groups_of(there, "period")) >= len(planted.phases) > 0
