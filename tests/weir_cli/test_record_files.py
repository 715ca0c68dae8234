"""Files of records in batches: nothing lost at a cut, and always the same cuts."""

import csv
import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from weir_cli import record_files
from weir_cli.__main__ import TABLES
from weir_cli.ending import CommandError
from weir_cli.record_files import Batch, batches_of, format_of

Rows = list[dict[str, Any]]


def rows_of(count: int) -> Rows:
    return [{"at_s": n, "topic": f"of {n}", "publisher": "a"} for n in range(count)]


def csv_of(rows: Rows) -> bytes:
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, [*rows[0]])
    table.writeheader()
    table.writerows(rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def lines_of(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\r\n" for row in rows)


def parquet_of(rows: Rows) -> bytes:
    to = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), to, row_group_size=7)
    return to.getvalue()


WRITERS = {"csv": csv_of, "jsonl": lines_of, "parquet": parquet_of}


def read(batch: Batch, written_in: str) -> Rows:
    if written_in == "parquet":
        return parquet.read_table(io.BytesIO(batch.body)).to_pylist()
    if written_in == "jsonl":
        return [json.loads(line) for line in batch.body.splitlines() if line]
    text = io.StringIO(batch.body.decode("utf-8-sig").lstrip("\n"), newline="")
    return [{**row, "at_s": int(row["at_s"])} for row in csv.DictReader(text, strict=True)]


def cut(path: Path) -> list[Batch]:
    return list(batches_of(path, format_of(path, None)))


@pytest.fixture
def ten_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_files, "MOST_ROWS", 10)
    monkeypatch.setattr(record_files, "ROWS_AT_ONCE", 4)


@pytest.mark.parametrize("written_in", WRITERS)
def test_a_file_that_is_one_batch_goes_as_it_is(tmp_path, written_in):
    body = WRITERS[written_in](rows_of(25))
    (tmp_path / f"a.{written_in}").write_bytes(body)
    (batch,) = cut(tmp_path / f"a.{written_in}")
    digest = hashlib.sha256(body).hexdigest()
    assert batch == Batch(first_row=0, body=body, digest=digest)


@pytest.mark.usefixtures("ten_rows")
@pytest.mark.parametrize("written_in", WRITERS)
def test_larger_files_are_cut_without_loss_and_always_there(tmp_path, written_in):
    path = tmp_path / f"a.{written_in}"
    rows = rows_of(25)
    path.write_bytes(WRITERS[written_in](rows))
    batches = cut(path)
    assert [batch.first_row for batch in batches] == [0, 10, 20]
    assert [row for batch in batches for row in read(batch, written_in)] == rows
    assert cut(path) == batches
    if written_in != "parquet":
        # Equal rows at another place are other rows; of what was appended the beginning is known.
        assert len({batch.digest for batch in batches}) == 3
        path.write_bytes(WRITERS[written_in](rows_of(31)))
        assert cut(path)[:2] == batches[:2]


@pytest.mark.usefixtures("ten_rows")
def test_equal_batches_of_a_file_have_names_of_their_own(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of(rows_of(1)) * 20)
    first, second = cut(path)
    assert first.body == second.body
    assert first.digest != second.digest


@pytest.mark.usefixtures("ten_rows")
def test_cells_of_several_lines_stay_whole(tmp_path):
    rows = [{**row, "note": f'"{n}",\r\n\nx'} for n, row in enumerate(rows_of(25))]
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n" + csv_of(rows)[3:] + b"\n\n")
    batches = cut(path)
    assert [batch.first_row for batch in batches] == [0, 10, 20]
    assert [row for batch in batches for row in read(batch, "csv")] == rows


def test_batches_hold_no_more_bytes_than_the_api_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(record_files, "MOST_BYTES", 500)
    for written_in in ("csv", "jsonl"):
        path = tmp_path / f"a.{written_in}"
        path.write_bytes(WRITERS[written_in](rows_of(50)))
        batches = cut(path)
        assert max(len(batch.body) for batch in batches) <= 500
        assert [row for batch in batches for row in read(batch, written_in)] == rows_of(50)
        path.write_bytes(path.read_bytes() + b"x" * 501)
        with pytest.raises(CommandError, match="row 50 is longer than a batch may be"):
            cut(path)


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("a.csv", b'a,b\n1,"2\n', "line 2 is no CSV: unexpected end of data"),
        ("a.csv", b"a,b\n1,\xe9\n", "is not UTF-8"),
        ("a.parquet", b"PAR1", "cannot be read as Parquet"),
        ("a.txt", b"", r"in which format is it\? Give --format jsonl, csv, parquet"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, body, words):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(CommandError, match=rf"{name}: .*{words}|{words}"):
        cut(tmp_path / name)


def test_parquet_needs_no_pyarrow_where_it_is_one_batch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"x" * 100)
    assert cut(path)[0].body == b"x" * 100
    monkeypatch.setattr(record_files, "MOST_BYTES", 99)
    with pytest.raises(CommandError, match="`pip install pyarrow`, which cuts it"):
        cut(path)


def test_tables_are_those_of_the_api():
    from weir_api.models.record_table_enum import RecordTableEnum

    assert sorted(TABLES) == sorted(RecordTableEnum)
