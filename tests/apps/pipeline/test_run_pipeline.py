"""`manage.py run_pipeline`: figures against plain loops, both engines, what is set aside."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.apps.pipeline.record_folders import (
    BEGAN_S,
    FACTS,
    facts_of,
    records,
    run,
    spoiled,
    write,
)
from weir.queueing.wait_histogram import HIGHEST, LONGEST_S, LOWEST, RATIO, upper_edge_s


def by_keys(out: Path, name: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = facts_of(out, name).to_pylist()
    keyed = {tuple(row[key] for key in FACTS[name]): row for row in rows}
    assert len(keyed) == len(rows)
    assert list(keyed) == sorted(keyed)
    return keyed


def expected(given: dict[str, list[dict[str, Any]]], window_s: int) -> dict[str, dict[Any, Any]]:
    """Compute rates, bursts, traffic, interests and averages by loops over rows."""
    tables: dict[str, dict[Any, Any]] = {name: {} for name in FACTS}

    def since(row: dict[str, Any]) -> float:
        return float(math.floor(row["at_s"]) // window_s * window_s)

    def count(name: str, key: Any, row: dict[str, Any]) -> dict[str, Any]:
        entry: dict[str, Any] = tables[name].setdefault(key, {"messages": 0, "bytes": 0})
        entry["messages"] += row["messages"]
        entry["bytes"] += row["bytes"]
        return entry

    bursts: dict[Any, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in given["messages"]:
        flow = (since(row), row["topic"], row["publisher"], row["broker"])
        topic = (since(row), row["topic"])
        for name, key in (("publications", flow), ("topics", topic)):
            count(name, key, row)
            bursts[name, key][math.floor(row["at_s"])] += row["messages"]
    for (name, key), seconds in bursts.items():
        tables[name][key]["busiest_second"] = max(seconds.values())
    people: dict[Any, set[str]] = defaultdict(set)
    crossings: dict[Any, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in given["deliveries"]:
        place = (since(row), row["topic"], row["consumer_class"], row["broker"])
        count("consumption", place, row)
        people["consumption", place].add(row["subscriber"])
        entry = count("interests", (row["subscriber"], row["topic"], row["consumer_class"]), row)
        entry["since_s"] = min(entry.get("since_s", math.inf), row["at_s"])
        entry["until_s"] = max(entry.get("until_s", -math.inf), row["at_s"])
        if row["origin"] and row["broker"] and row["origin"] != row["broker"]:
            way = (since(row), row["topic"], row["origin"], row["broker"])
            carried = crossings[way][row["subscriber"]]
            carried[0] += row["messages"]
            carried[1] += row["bytes"]
    for (since_s, _, origin, broker), by_subscriber in crossings.items():
        busiest = [max(each[at] for each in by_subscriber.values()) for at in (0, 1)]
        count("traffic", (since_s, origin, broker), {"messages": busiest[0], "bytes": busiest[1]})
    for row in given["requests"]:
        place = (since(row), row["topic"], row["consumer_class"], row["broker"])
        entry = count("requests", place, row)
        lost = row["messages"] if row["delay_s"] is None else 0
        entry["unanswered"] = entry.get("unanswered", 0) + lost
        people["requests", place].add(row["subscriber"])
    for (name, key), who in people.items():
        column = "subscribers" if name == "consumption" else "requesters"
        tables[name][key][column] = len(who)
    for name in ("publications", "topics", "consumption", "traffic", "requests"):
        for entry in tables[name].values():
            entry["rate_per_s"] = entry["messages"] / window_s
    values: dict[Any, list[float]] = defaultdict(list)
    for row in given["samples"]:
        names = (row["broker"], row["topic"], row["consumer_class"], row["metric"])
        values[(since(row), *names)].append(row["value"])
    for key, here in values.items():
        mean = pytest.approx(math.fsum(here) / len(here), rel=1e-9, abs=1e-9)
        extremes = {"least": min(here), "most": max(here)}
        tables["brokers"][key] = {"samples": len(here), "mean": mean, **extremes}
    return tables


@pytest.mark.parametrize("window_s", [1, 60, 7])
def test_every_figure_equals_that_of_plain_loops(tmp_path: Path, window_s: int) -> None:
    given = records(seed=window_s)
    for table, rows in given.items():
        write(tmp_path / "in", table, rows, files=3)
    assert run(tmp_path / "in", tmp_path / "out", "--window", str(window_s)) == (0, "")
    tables = expected(given, window_s)
    for name in ("publications", "topics", "consumption", "traffic", "interests", "requests"):
        keyed = by_keys(tmp_path / "out", name)
        assert keyed.keys() == tables[name].keys()
        for key, row in keyed.items():
            assert {column: row[column] for column in row if column not in FACTS[name]} == (
                tables[name][key]
            )
    brokers = by_keys(tmp_path / "out", "brokers")
    assert brokers.keys() == tables["brokers"].keys()
    for key, row in brokers.items():
        assert {name: row[name] for name in ("samples", "mean", "least", "most")} == (
            tables["brokers"][key]
        )
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    times = [row["at_s"] for rows in given.values() for row in rows]
    assert (summary["since_s"], summary["until_s"]) == (min(times), max(times))
    assert summary["records"] == {
        table: {"rows": len(rows), "used": len(rows), "quarantined": {}}
        for table, rows in given.items()
    }
    assert summary["facts"] == {name: len(facts_of(tmp_path / "out", name)) for name in FACTS}


def test_percentiles_are_those_of_all_delays_within_a_bin(tmp_path: Path) -> None:
    given = records(seed=5, rows=6000)
    for table in ("deliveries", "requests", "delays"):
        write(tmp_path / "in", table, given[table], files=2)
    assert run(tmp_path / "in", tmp_path / "out", "--window", "600") == (0, "")
    delays: dict[Any, list[float]] = defaultdict(list)
    for table, kind in (("deliveries", "delivery"), ("requests", "answer")):
        for row in given[table]:
            if row["delay_s"] is not None:
                since_s = math.floor(row["at_s"]) // 600 * 600.0
                key = (since_s, row["topic"], kind, row["consumer_class"])
                delays[key] += [row["delay_s"]] * row["messages"]
    for row in given["delays"]:
        since_s = math.floor(row["at_s"]) // 600 * 600.0
        key = (since_s, row["topic"], row["kind"], row["consumer_class"])
        delays[key] += [row["delay_s"]] * row["messages"]
    keyed = by_keys(tmp_path / "out", "delays")
    assert keyed.keys() == delays.keys()
    for key, row in keyed.items():
        ordered = sorted(delays[key])
        assert (row["messages"], row["longest_s"]) == (len(ordered), ordered[-1])
        for name, probability in (("p50_s", 0.5), ("p95_s", 0.95), ("p99_s", 0.99)):
            exact = ordered[max(math.ceil(round(probability * len(ordered), 6)), 1) - 1]
            assert exact <= row[name] <= max(exact, 1e-9) * RATIO * (1 + 1e-12)
    # The histograms are those of which the percentiles were made: they merge by addition.
    counted: dict[Any, int] = defaultdict(int)
    for (*key, _), row in by_keys(tmp_path / "out", "delay_histograms").items():
        counted[tuple(key)] += row["messages"]
    assert counted == {key: len(each) for key, each in delays.items()}


def test_buckets_named_by_their_edges_are_the_bins_that_they_were(tmp_path: Path) -> None:
    bins = range(LOWEST, HIGHEST + 1)
    row = {"at_s": BEGAN_S, "topic": "t", "kind": "gate"}
    edges_s = [min(upper_edge_s(bin_), LONGEST_S) for bin_ in bins]
    rows = [{**row, "delay_s": each, "messages": 1 + at} for at, each in enumerate(edges_s)]
    write(tmp_path / "in", "delays", rows)
    short = pa.Table.from_pylist([{**each, "topic": "short"} for each in rows])
    place = short.schema.get_field_index("delay_s")
    short = short.set_column(place, "delay_s", short["delay_s"].cast(pa.float32(), safe=False))
    parquet.write_table(short, tmp_path / "in" / "delays" / "short.parquet")
    assert run(tmp_path / "in", tmp_path / "out") == (0, "")
    counted = by_keys(tmp_path / "out", "delay_histograms")
    since_s = math.floor(BEGAN_S) // 60 * 60.0
    assert {key: each["messages"] for key, each in counted.items()} == {
        (since_s, topic, "gate", "", bin_): 1 + at
        for topic in ("t", "short")
        for at, bin_ in enumerate(bins)
    }


PROBLEMS = {
    "messages": {
        "at_s: beyond the year 5000, so not in seconds": 1,
        "at_s: not finite": 1,
        "messages: above 1,000,000": 1,
        "messages: below 1": 1,
        "publisher: empty": 1,
        "topic: empty": 1,
        "topic: null": 1,
    },
    "deliveries": {"delay_s: below 0": 1},
    "samples": {"value: not finite": 1, "value: null": 1},
    "delays": {
        "delay_s: above 1,000,000": 1,
        "delay_s: null": 1,
        "kind: empty": 1,
        "kind: must be delivery, answer or gate": 1,
        "kind: null": 1,
        "messages: below 1": 1,
        "topic: empty": 1,
    },
}


def test_rows_that_do_not_fit_are_set_aside_with_place_and_reason(tmp_path: Path) -> None:
    for table, rows in spoiled().items():
        write(tmp_path / "in", table, rows)
    (tmp_path / "in" / "requests").mkdir()
    (tmp_path / "in" / "requests" / "torn.parquet").write_bytes(b"PAR1 and no more")
    write(tmp_path / "in", "requests", [{"at_s": BEGAN_S, "topic": "t"}] * 3)
    status, errors = run(tmp_path / "in", tmp_path / "out")
    assert status == 0
    assert "run_pipeline: messages: 1 row quarantined: publisher: empty\n" in errors
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    quarantined = {table: each["quarantined"] for table, each in summary["records"].items()}
    requests = quarantined.pop("requests")
    assert quarantined == PROBLEMS
    assert requests.pop("subscriber: there is no such column") == 3
    assert [(words[:31], rows) for words, rows in requests.items()] == [
        ("cannot be read as Parquet: Parq", 0)
    ]
    assert summary["records"]["messages"] | {"quarantined": 7} == {
        "rows": 9,
        "used": 2,
        "quarantined": 7,
    }
    set_aside = by_keys(tmp_path / "out", "quarantined")
    file = "messages/part-0.parquet"
    assert ("messages", file, 2, "publisher: empty") in set_aside
    assert ("messages", file, 8, "topic: empty") in set_aside
    whole = ("requests", "requests/part-0.parquet", -1, "subscriber: there is no such column")
    assert set_aside[whole]["rows"] == 3
    # What fits is counted, and a null count is one.
    assert [row["messages"] for row in by_keys(tmp_path / "out", "topics").values()] == [2]
    assert [row["messages"] for row in by_keys(tmp_path / "out", "consumption").values()] == [2]


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_text_that_is_none_is_set_aside(tmp_path: Path, kind: str) -> None:
    raw = pa.array([b"t", b"\xff\xfe", None, b"t"]).view(pa.string())
    if kind == "large_string":
        raw = raw.cast(pa.large_string())
    (tmp_path / "in" / "messages").mkdir(parents=True)
    table = pa.table({"at_s": [BEGAN_S] * 4, "topic": raw, "publisher": ["p"] * 4})
    parquet.write_table(table, tmp_path / "in" / "messages" / "x.parquet")
    assert run(tmp_path / "in", tmp_path / "out")[0] == 0
    file = "messages/x.parquet"
    assert list(by_keys(tmp_path / "out", "quarantined")) == [
        ("messages", file, 1, "topic: not UTF-8"),
        ("messages", file, 2, "topic: null"),
    ]
    assert [row["messages"] for row in by_keys(tmp_path / "out", "topics").values()] == [2]


def test_damaged_part_of_a_file_is_set_aside_and_the_rest_is_used(tmp_path: Path) -> None:
    source = write(tmp_path / "in", "messages", records(seed=3)["messages"])
    path = source / "messages" / "part-0.parquet"
    second = parquet.ParquetFile(path).metadata.row_group(1)
    damaged = bytearray(path.read_bytes())
    begins = second.column(0).dictionary_page_offset or second.column(0).data_page_offset
    damaged[begins : begins + 200] = b"\xff" * 200
    path.write_bytes(damaged)
    assert run(source, tmp_path / "out")[0] == 0
    (row,) = facts_of(tmp_path / "out", "quarantined").to_pylist()
    assert (row["file"], row["row"], row["rows"]) == ("messages/part-0.parquet", 1000, 1000)
    assert row["problem"].startswith("cannot be read from this row on: ")
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    counts = summary["records"]["messages"]
    assert (counts["rows"], counts["used"], sum(counts["quarantined"].values())) == (
        3000,
        2000,
        1000,
    )


def test_files_that_contradict_their_footers_are_set_aside(tmp_path: Path) -> None:
    source = write(tmp_path / "in", "messages", records(seed=4, rows=30)["messages"])
    whole = (source / "messages" / "part-0.parquet").read_bytes()
    (source / "messages" / "broken.parquet").write_bytes(whole.replace(b"publisher", b"\xff" * 9))
    (source / "messages" / "empty.parquet").write_bytes(b"")
    assert run(source, tmp_path / "out")[0] == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["records"]["messages"]["used"] == 30
    set_aside = by_keys(tmp_path / "out", "quarantined")
    assert {key[1] for key in set_aside} == {"messages/broken.parquet", "messages/empty.parquet"}


def test_whole_numbers_of_any_type_have_their_default_for_null(tmp_path: Path) -> None:
    (tmp_path / "in" / "messages").mkdir(parents=True)
    for kind in (pa.uint64(), pa.int8(), pa.int64()):
        most = 2**64 - 1 if kind == pa.uint64() else 127
        table = pa.table(
            {
                "at_s": [BEGAN_S, BEGAN_S, BEGAN_S],
                "topic": [str(kind)] * 3,
                "publisher": ["p"] * 3,
                "broker": pa.nulls(3),
                "messages": pa.array([1, None, 5], kind),
                "bytes": pa.array([None, 7, most], kind),
            }
        )
        parquet.write_table(table, tmp_path / "in" / "messages" / f"{kind}.parquet")
    assert run(tmp_path / "in", tmp_path / "out")[0] == 0
    topics = by_keys(tmp_path / "out", "topics")
    counts = {key[1]: (row["messages"], row["bytes"]) for key, row in topics.items()}
    assert counts == {"uint64": (2, 7), "int8": (7, 134), "int64": (7, 134)}
    assert [key[1:] for key in by_keys(tmp_path / "out", "quarantined")] == [
        ("messages/uint64.parquet", 2, "bytes: above 4,294,967,296")
    ]


def test_nanoseconds_before_a_border_belong_before_it(tmp_path: Path) -> None:
    at = pa.array([1_700_000_039_999_999_999, 1_700_000_040_000_000_000, -1], pa.timestamp("ns"))
    (tmp_path / "in" / "messages").mkdir(parents=True)
    table = pa.table({"at_s": at, "topic": ["t"] * 3, "publisher": ["p"] * 3})
    parquet.write_table(table, tmp_path / "in" / "messages" / "x.parquet")
    assert run(tmp_path / "in", tmp_path / "out")[0] == 0
    assert list(by_keys(tmp_path / "out", "topics")) == [
        (-60.0, "t"),
        (1_699_999_980.0, "t"),
        (1_700_000_040.0, "t"),
    ]


def test_table_whose_files_have_no_rows_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "in", "messages", records(seed=4, rows=30)["messages"])
    sample = pa.Table.from_pylist(records(seed=4, rows=1)["samples"])
    (tmp_path / "in" / "samples").mkdir()
    parquet.write_table(sample.slice(0, 0), tmp_path / "in" / "samples" / "x.parquet")
    assert run(tmp_path / "in", tmp_path / "out") == (0, "")
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["records"]["samples"] == {"rows": 0, "used": 0, "quarantined": {}}


def test_times_may_be_timestamps_and_texts_dictionaries(tmp_path: Path) -> None:
    at = pa.array([1_700_000_000_250, 1_700_000_061_000], pa.timestamp("ms"))
    columns = {"at_s": at, "topic": pa.array(["t", "t"]).dictionary_encode()}
    columns |= {"publisher": pa.array(["p", "q"], pa.large_string())}
    (tmp_path / "in" / "messages").mkdir(parents=True)
    parquet.write_table(pa.table(columns), tmp_path / "in" / "messages" / "x.parquet")
    assert run(tmp_path / "in", tmp_path / "out") == (0, "")
    assert list(by_keys(tmp_path / "out", "topics")) == [
        (1_699_999_980.0, "t"),
        (1_700_000_040.0, "t"),
    ]


def test_bad_input_names_the_field_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "in", "messages", spoiled()["messages"][:1])
    out = tmp_path / "out"
    for given, options, words in (
        (tmp_path / "none", (), "none: there is no such folder"),
        (tmp_path / "in" / "messages", (), "messages: holds no records; name a folder with any of"),
        (tmp_path / "in" / "messages" / "part-0.parquet", (), "is no folder"),
        (tmp_path / "in", ("--window", "0"), "window: must be 1 to 86,400 s, not 0"),
        (tmp_path / "in\udcff", (), "is not UTF-8; rename the folder"),
        (tmp_path / "in", ("--window", "90000"), "window: must be 1 to 86,400 s, not 90,000"),
    ):
        status, errors = run(given, out, *options)
        assert (status, words in errors, out.exists()) == (2, True, False), errors
    inside = tmp_path / "in" / "messages" / "out"
    status, errors = run(tmp_path / "in", inside)
    assert (status, f"{inside}: lies in {tmp_path / 'in'}" in errors) == (2, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("kept")
    status, errors = run(tmp_path / "in", tmp_path / "full")
    assert (status, "full: is not empty; name a folder that" in errors) == (2, True)
    assert run(tmp_path / "in", tmp_path / "no" / "out")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "in"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


@pytest.mark.spark
@pytest.mark.slow
def test_both_engines_give_the_same_rows_in_the_same_order(
    spark_server: str, tmp_path: Path, settings: Any
) -> None:
    settings.WEIR_DATA_DIR = tmp_path / "data"
    source, here, there = tmp_path / "in", tmp_path / "here", tmp_path / "there"
    bad = spoiled()
    for table, rows in records(seed=11, rows=5000).items():
        write(source, table, [*rows, *bad.get(table, [])], files=4)
    pa_table = pa.table({"at_s": [BEGAN_S] * 3, "topic": ["t"] * 3})
    parquet.write_table(pa_table, source / "requests" / "who.parquet")
    assert run(source, here)[0] == 0
    status, errors = run(source, there, "--engine", "spark")
    assert (status, "subscriber: there is no such column" in errors) == (0, True), errors
    assert (here / "summary.json").read_bytes() == (there / "summary.json").read_bytes()
    for table in FACTS:
        assert len(facts_of(here, table))
        assert facts_of(here, table).equals(facts_of(there, table)), table
    status, errors = run(source, here, "--engine", "spark")
    assert (status, "not empty" in errors) == (2, True)
