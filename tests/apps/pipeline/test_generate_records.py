"""`manage.py generate_records`: files as docs/formats.md has them, whole ones or none."""

import io

import numpy as np
import pyarrow as pa
import pytest
from django.core.management import call_command
from pyarrow import compute, parquet

from apps.pipeline.services import record_files
from apps.pipeline.services.record_files import write_records
from spark_tasks.grouping import read_recording
from spark_tasks.records import TABLES
from weir.records import kind, kinds
from weir.records.slices import first_records

RECORDS = 20_000

RECEIVED = {
    "at_s": "double",
    "topic": "string",
    "subscriber": "string",
    "consumer_class": "string",
    "broker": "string",
    "origin": "string",
    "delay_s": "double",
    "messages": "int64",
    "bytes": "int64",
}
COLUMNS = {
    "messages": {
        "at_s": "double",
        "topic": "string",
        "publisher": "string",
        "broker": "string",
        "messages": "int64",
        "bytes": "int64",
    },
    "deliveries": RECEIVED,
    "requests": RECEIVED,
    "samples": {"at_s": "double", "broker": "string", "metric": "string", "value": "double"},
}
METRICS = {"cpu_ratio", "memory_bytes", "connections", "network_bytes_per_s"}


def generate(out, *, records=RECORDS, kind="market", seed=1):
    """Return exit status, standard output and standard error."""
    output, errors = io.StringIO(), io.StringIO()
    words = ("--kind", kind, "--records", str(records), "--seed", str(seed))
    status = 0
    try:
        call_command("generate_records", str(out), *words, stdout=output, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, output.getvalue(), errors.getvalue()


def log_of(name, records):
    made = kind(name)
    return first_records(made.slices(made.Shape(), records=records, seed=1), records)


def tables_of(out):
    return {
        folder.name: pa.concat_tables(
            parquet.read_table(file) for file in sorted(folder.glob("part-*.parquet"))
        )
        for folder in out.iterdir()
    }


def listed(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", sorted(kinds()))
@pytest.mark.parametrize("records", [1, 7, 1000, 300_000])
def test_tables_have_as_many_rows_as_wished(tmp_path, name, records):
    status, output, errors = generate(tmp_path / "log", records=records, kind=name)
    assert (status, errors) == (0, "")
    tables = tables_of(tmp_path / "log")
    assert set(tables) == set(kind(name).TABLES)
    assert sum(table.num_rows for table in tables.values()) == records
    for table, rows in tables.items():
        assert f"{table}: {rows.num_rows:,}\n" in output
    assert listed(tmp_path) == ["log"]


@pytest.mark.parametrize("name", sorted(kinds()))
def test_columns_and_rows_are_as_documented(tmp_path, name):
    generate(tmp_path / "log", kind=name)
    for table, rows in tables_of(tmp_path / "log").items():
        kinds_of = {field.name: str(field.type) for field in rows.schema}
        assert kinds_of == COLUMNS[table]
        for column in rows.schema.names:
            missing = rows[column].null_count
            assert (missing > 0) == ((table, column) == ("requests", "delay_s"))
        assert np.isfinite(rows["at_s"].to_numpy()).all()
        if table == "samples":
            assert set(compute.unique(rows["metric"]).to_pylist()) == METRICS
            of_cpu = rows.filter(compute.equal(rows["metric"], "cpu_ratio"))["value"].to_numpy()
            assert (of_cpu >= 0).all()
            assert (of_cpu <= 1).all()
            assert (rows["value"].to_numpy() >= 0).all()
            continue
        lowest = {"messages": 1, "bytes": 1}
        for column, highest in (("messages", 1_000_000), ("bytes", 2**40)):
            values = rows[column].to_numpy()
            assert values.min() >= lowest[column]
            assert values.max() <= highest
        for column in ("topic", "broker"):
            assert not compute.any(compute.equal(rows[column], "")).as_py()
        if table != "messages":
            delays = rows["delay_s"].drop_null().to_numpy()
            assert delays.min() > 0
            assert delays.max() < 1e6


def test_same_seed_gives_the_same_rows_and_another_one_others(tmp_path):
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate(tmp_path / out, seed=seed)
    first, again, other = (tables_of(tmp_path / out) for out in "abc")
    for table, rows in first.items():
        assert rows.equals(again[table])
        assert not rows.equals(other[table])


@pytest.mark.parametrize("name", ["market", "iot"])
@pytest.mark.parametrize(("by", "column"), [("topic", "topic"), ("publisher", "publisher")])
def test_messages_are_a_recording(tmp_path, name, by, column):
    generate(tmp_path / "log", kind=name)
    uri = (tmp_path / "log" / "messages").as_uri()
    survey, whole = read_recording(uri, by=by)
    rows = tables_of(tmp_path / "log")["messages"]
    assert survey.rows == rows.num_rows
    assert survey.messages == compute.sum(rows["messages"]).as_py()
    assert list(whole.names) == sorted(set(rows[column].to_pylist()))


def test_row_groups_are_full_and_texts_in_dictionaries(tmp_path, monkeypatch):
    monkeypatch.setattr(record_files, "FILE_ROWS", 500_000)
    write_records(tmp_path, kind("iot").TABLES, log_of("iot", 1_500_000))
    files = sorted((tmp_path / "deliveries").iterdir())
    assert [file.name for file in files] == [f"part-{at:05}.parquet" for at in range(len(files))]
    assert len(files) > 1
    groups = []
    for file in files:
        shape = parquet.ParquetFile(file).metadata
        groups += [shape.row_group(at) for at in range(shape.num_row_groups)]
    assert all(250_000 <= group.num_rows < 750_000 for group in groups[:-1])
    for at, (column, kind_of) in enumerate(RECEIVED.items()):
        chunk = groups[0].column(at)
        assert chunk.path_in_schema == column
        assert chunk.compression == "ZSTD"
        assert ("RLE_DICTIONARY" in chunk.encodings) == (kind_of != "double")


def test_empty_folder_is_filled(tmp_path):
    (tmp_path / "log").mkdir()
    assert generate(tmp_path / "log")[0] == 0
    assert listed(tmp_path / "log") == ["deliveries", "messages", "samples"]


def test_tables_are_those_that_the_pipeline_reads():
    columns = {table: {each.name for each in columns} for table, columns in TABLES.items()}
    # Delays are generated with the deliveries and requests that they are of.
    del columns["delays"]
    # The samples that are generated are of whole brokers.
    columns["samples"] -= {"topic", "consumer_class"}
    assert {table: set(names) for table, names in record_files.COLUMNS.items()} == columns


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"records": 0}, "--records: must be 1 to 1,000,000,000,000"),
        ({"records": 10**400}, "--records: must be 1 to 1,000,000,000,000"),
        ({"seed": -1}, "--seed: must be 0 or more"),
        ({"kind": "gulls"}, 'no kind "gulls" of records; known are iot, market, requests'),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, words):
    assert generate(tmp_path / "log", **options) == (2, "", f"generate_records: {words}\n")
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("full", "is not empty; name a folder that is not there yet"),
        ("full/gull", "is a file; name a folder that is not there yet"),
        ("nowhere/log", "cannot be written; name a folder inside one that exists"),
        ("/proc/log", "cannot be written"),
    ],
)
def test_place_that_cannot_be_written_is_refused(tmp_path, out, words):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "gull").touch()
    status, output, errors = generate(tmp_path / out)
    assert (status, output) == (2, "")
    assert errors.startswith(f"generate_records: {tmp_path / out}: {words}")
    assert listed(tmp_path) == ["full"]
    assert listed(tmp_path / "full") == ["gull"]


def test_help_says_how_records_and_duration_relate(capsys):
    with pytest.raises(SystemExit):
        call_command("generate_records", "--help")
    words = " ".join(capsys.readouterr().out.split())
    assert "span the natural duration of the kind" in words
    assert all(name in words for name in kinds())
