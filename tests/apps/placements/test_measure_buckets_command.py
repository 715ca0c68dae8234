"""`manage.py measure_buckets`: rows of both engines, and recordings that are refused."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from django.core.management import call_command
from pyarrow import parquet

from benchmarks.recordings import BEGAN_S, make_topics, write_recording
from spark_tasks import grouping
from spark_tasks.grouping import borders_of
from spark_tasks.recordings import Survey
from weir.queueing.traces import delays_s, work_over


def measure(recording, out, *options):
    """Return exit status, standard error and the path of the result."""
    errors = io.StringIO()
    status = 0
    words = options if {"--rates", "--headroom"} & set(options) else ("--headroom", "1.1", *options)
    try:
        call_command("measure_buckets", str(recording), "--out", str(out), *words, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, errors.getvalue()


def rows_of(out):
    return {row["topic"]: row for row in json.loads(out.read_bytes())["topics"]}


def test_bucket_is_the_smallest_that_delays_one_in_a_hundred(tmp_path):
    chance = np.random.default_rng(1)
    times = BEGAN_S + np.sort(chance.uniform(0, 500, 40_000))
    shuffled = chance.permutation(times)
    publishers = [f"p{at % 7}" for at in range(len(times))]
    source = write_recording(
        tmp_path / "in.parquet", publisher=publishers, at_s=shuffled, topic=["t"] * len(times)
    )
    assert measure(source, tmp_path / "out.json", "--headroom", "2") == (0, "")
    row = rows_of(tmp_path / "out.json")["t"]
    assert (row["messages"], row["publishers"], row["conclusive"]) == (40_000, 7, True)
    assert row["bucket_low"] <= row["bucket"] <= row["bucket_high"]
    rate = row["token_rate_per_s"]
    assert rate == pytest.approx(2 * 39_999 / (times[-1] - times[0]))
    work, _ = work_over(times, rate)
    late = [(delays_s(work, rate_per_s=rate, size=row["bucket"] + d) > 0).mean() for d in (0, -0.5)]
    assert late[0] <= 0.01 < late[1]


def test_messages_sent_at_once_count_as_many(tmp_path):
    common = {"publisher": ["a", "b"], "topic": ["t", "t"], "at_s": [BEGAN_S, BEGAN_S + 10]}
    once = write_recording(tmp_path / "once.parquet", messages=[3, 2], **common)
    assert measure(once, tmp_path / "out.json")[0] == 0
    row = rows_of(tmp_path / "out.json")["t"]
    assert (row["messages"], row["publishers"], row["conclusive"]) == (5, 2, False)
    assert row["bucket"] == pytest.approx(3.0)


def test_counts_beside_times_give_the_rows_of_repeated_messages(tmp_path):
    chance = np.random.default_rng(8)
    rows = 6000
    columns = {
        "publisher": [f"p{at}" for at in chance.integers(0, 9, rows)],
        "topic": [f"t{at}" for at in chance.integers(0, 3, rows)],
        # Some rows of a topic are of one time.
        "at_s": BEGAN_S + np.round(chance.uniform(0, 900, rows), 1),
    }
    sent = chance.geometric(0.3, rows)
    counted = write_recording(tmp_path / "counted.parquet", row_group=700, **columns, messages=sent)
    repeated = {name: np.repeat(np.array(values), sent) for name, values in columns.items()}
    plain = write_recording(tmp_path / "plain.parquet", **repeated)
    assert measure(counted, tmp_path / "counted.json", "--headroom", "1.3")[0] == 0
    assert measure(plain, tmp_path / "plain.json", "--headroom", "1.3")[0] == 0
    rows_plain = rows_of(tmp_path / "plain.json")
    for topic, row in rows_of(tmp_path / "counted.json").items():
        assert row == pytest.approx(rows_plain[topic], abs=1e-6)
        assert row["messages"] == rows_plain[topic]["messages"]


def test_row_of_very_many_messages_takes_no_room(tmp_path):
    rows = 2000
    source = write_recording(
        tmp_path / "in.parquet",
        publisher=["a"] * rows,
        topic=["t"] * rows,
        at_s=BEGAN_S + np.arange(float(rows)),
        messages=np.full(rows, 1_000_000),
    )
    assert measure(source, tmp_path / "out.json")[0] == 0
    row = rows_of(tmp_path / "out.json")["t"]
    assert row["messages"] == 2_000_000_000
    # The last of each million is behind all others of it, but for one in a hundred.
    assert row["bucket"] == pytest.approx(990_000, rel=1e-3)


def test_files_that_are_no_part_of_a_folder_are_not_read(tmp_path):
    folder = tmp_path / "day"
    (folder / "_temporary").mkdir(parents=True)
    write_recording(folder / "x.parquet", **FITS)
    write_recording(folder / "_temporary" / "y.parquet", **FITS)
    for name in ("README.txt", "part-0001", "_SUCCESS", ".x.parquet.crc"):
        (folder / name).write_text("gulls")
    assert measure(folder, tmp_path / "out.json")[0] == 0
    assert [row["messages"] for row in rows_of(tmp_path / "out.json").values()] == [1, 1]
    (tmp_path / "empty").mkdir()
    status, errors = measure(tmp_path / "empty", tmp_path / "out.json")
    assert (status, "no file whose name ends with .parquet" in errors) == (2, True)


def test_borders_of_parts_cut_rows_evenly_not_names():
    survey = Survey(sample={f"n{at:02d}": (at, 990 if at < 3 else 10) for at in range(100)})
    borders = borders_of(survey, 4)
    assert borders == ["n01", "n02", "n03"]
    alike = Survey(sample={f"n{at:02d}": (at, 1) for at in range(100)})
    assert borders_of(alike, 4) == ["n25", "n50", "n75"]
    one = Survey(sample={"a": (1, 1), "b": (2, 1_000), "c": (3, 1)})
    assert borders_of(one, 4) == ["c"]
    assert borders_of(Survey(), 4) == []


def test_folder_of_files_timestamps_and_a_table_as_result(tmp_path):
    folder = tmp_path / "Tag 1, Möwen"
    folder.mkdir()
    stamps = pa.array([1_700_000_000_250, 1_700_000_001_250], pa.timestamp("ms"))
    for name in ("a.parquet", "b.parquet", "_ignored.parquet"):
        write_recording(folder / name, publisher=["p", name], at_s=stamps, topic=["t", "u"])
    assert measure(folder, tmp_path / "out.parquet")[0] == 0
    rows = {row["topic"]: row for row in parquet.read_table(tmp_path / "out.parquet").to_pylist()}
    assert [rows[name]["messages"] for name in "tu"] == [2, 2]
    assert [rows[name]["publishers"] for name in "tu"] == [1, 2]
    assert rows["t"]["since_s"] == 1_700_000_000.25
    # All at one time: each waits for those before it, whatever the rate.
    assert rows["t"]["mean_rate_per_s"] is None
    assert rows["t"]["bucket"] == 2.0


def test_times_that_do_not_fit_into_memory_give_the_same_rows(tmp_path, monkeypatch):
    make_topics(tmp_path / "in.parquet", topics=20, messages=200, seed=3, row_group=500)
    measure(tmp_path / "in.parquet", tmp_path / "a.json")
    monkeypatch.setattr(grouping, "IN_MEMORY", 100)
    measure(tmp_path / "in.parquet", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


FITS = {"publisher": ["a", "b"], "at_s": [BEGAN_S, BEGAN_S + 1], "topic": ["t", "u"]}


@pytest.mark.parametrize(
    ("columns", "options", "line"),
    [
        ({"at_s": [None, None]}, (), "at_s: 2 rows are null; leave them out or mend them"),
        ({"at_s": [np.nan, np.inf]}, (), "at_s: 2 rows are not finite; leave them out"),
        ({"at_s": [1.7e12, 1.0]}, (), "at_s: 1 row is beyond the year 5000, so not in seconds"),
        ({"publisher": [None, "b"]}, (), "publisher: 1 row is null"),
        ({"publisher": ["", ""]}, (), "publisher: 2 rows are empty"),
        ({"messages": [0, 1]}, (), "messages: 1 row is below 1"),
        ({"messages": [1, 10**12]}, (), "messages: 1 row is above 1,000,000 at one moment"),
        ({"at_s": [17 * 10**17, 1]}, (), "at_s: 1 row is beyond the year 5000"),
        ({"at_s": ["today", "now"]}, (), "at_s: must be numbers (Unix seconds) or timestamps"),
        ({"topic": None}, (), "topic: the recording has no such column, only publisher, at_s"),
        ({}, ("--headroom", "1"), "headroom: must be above 1"),
        ({}, ("--percentile", "99"), "percentile: must lie between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_status_2_and_writes_nothing(tmp_path, columns, options, line):
    merged = {name: value for name, value in {**FITS, **columns}.items() if value is not None}
    if merged["at_s"] == [None, None]:
        merged["at_s"] = pa.array([None, None], pa.float64())
    source = write_recording(tmp_path / "in.parquet", **merged)
    status, errors = measure(source, tmp_path / "out.json", *options)
    assert status == 2
    assert errors.startswith(f"measure_buckets: {line}")
    assert errors.count("\n") == 1
    assert not (tmp_path / "out.json").exists()


def test_rates_of_a_file_and_topics_without_one(tmp_path):
    source = write_recording(tmp_path / "in.parquet", **FITS)
    rates = tmp_path / "rates.csv"
    rates.write_text("topic,rate_per_s\nt,5\n")
    status, errors = measure(source, tmp_path / "out.json", "--rates", str(rates))
    assert status == 2
    assert 'rates: no rate for topic "u"; add a row for each' in errors
    rates.write_text("topic,rate_per_s\nt,5\nu,7\n")
    assert measure(source, tmp_path / "out.json", "--rates", str(rates))[0] == 0
    assert rows_of(tmp_path / "out.json")["u"]["token_rate_per_s"] == 7.0


def test_no_file_and_no_parquet_are_status_2(tmp_path):
    assert "no such recording" in measure(tmp_path / "none.parquet", tmp_path / "out.json")[1]
    (tmp_path / "text.parquet").write_text("gulls")
    status, errors = measure(tmp_path / "text.parquet", tmp_path / "out.json")
    assert (status, "cannot be read as Parquet" in errors) == (2, True)


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_give_the_same_bytes_and_the_same_refusal(spark_server, tmp_path, settings):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    source = tmp_path / "in.parquet"
    make_topics(source, topics=300, messages=40, seed=2, row_group=1000)
    measure(source, tmp_path / "here.json")
    status, errors = measure(source, tmp_path / "spark.json", "--engine", "spark")
    assert status == 0, errors
    assert (tmp_path / "spark.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    assert len(rows_of(tmp_path / "spark.json")) == 300
    chance = np.random.default_rng(9)
    several = write_recording(
        tmp_path / "several.parquet",
        row_group=300,
        publisher=["p"] * 3000,
        topic=[f"t{at}" for at in chance.integers(0, 40, 3000)],
        at_s=BEGAN_S + np.round(chance.uniform(0, 100, 3000), 1),
        messages=chance.geometric(0.3, 3000),
    )
    measure(several, tmp_path / "here.json")
    assert measure(several, tmp_path / "spark.json", "--engine", "spark")[0] == 0
    assert (tmp_path / "spark.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    wrong = write_recording(tmp_path / "wrong.parquet", **{**FITS, "at_s": [np.nan, 1.0]})
    status, errors = measure(wrong, tmp_path / "none.json", "--engine", "spark")
    assert status == 3
    assert "at_s: 1 row is not finite; leave them out or mend them" in errors
