"""`manage.py import_records`: each row once, whatever is repeated, changed, broken or killed."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from django.core.management import call_command
from django.db import connection
from pyarrow import parquet

from apps.audit.models import AuditEntry
from apps.records.models import RecordBatch, SetAsideRow
from apps.records.services import records_import
from apps.runs.services.gateway import record_files
from tests.apps.records.files import kept
from tests.apps.records.object_store import BUCKET, object_store
from weir.errors import InvalidProblem

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120.0
LONG_AGO_S = 1_500_000_000.0
Rows = list[dict[str, Any]]


def messages(count: int, first: int = 0) -> Rows:
    return [
        {"at_s": LONG_AGO_S + n, "topic": f"t{n % 7}", "publisher": "feed", "bytes": n}
        for n in range(first, first + count)
    ]


def samples(count: int) -> Rows:
    place = {"broker": "b1", "metric": "cpu_ratio"}
    return [{"at_s": LONG_AGO_S + n, **place, "value": n / 7} for n in range(count)]


def write(path: Path, rows: Rows, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path, **options)
    elif path.suffix == ".csv":
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8-sig")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(system: Any, folder: Path | str, *options: str) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error."""
    out, errors, status = io.StringIO(), io.StringIO(), 0
    try:
        name = str(system.public_id)
        call_command("import_records", name, str(folder), *options, stdout=out, stderr=errors)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, out.getvalue().strip(), errors.getvalue()


def counted(rows: Rows) -> Counter[tuple[Any, ...]]:
    """How often each row is there, by what the tests give."""
    names = ("at_s", "topic", "publisher", "bytes", "broker", "metric", "value")
    return Counter(tuple(row.get(name) or None for name in names) for row in rows)


def names() -> list[str]:
    return list(RecordBatch.objects.order_by("id").values_list("name", flat=True))


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of ten rows, so that small files are several."""
    monkeypatch.setattr(record_files(), "MOST_ROWS", 10)
    monkeypatch.setattr(record_files(), "ROWS_AT_ONCE", 3)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with files of each kind."""
    logs = tmp_path / "logs"
    write(logs / "messages/2017/a.parquet", messages(25), row_group_size=4)
    write(logs / "messages/b.jsonl", messages(31, 100))
    write(logs / "messages/c.ndjson", messages(5, 200))
    write(logs / "samples/d.csv", samples(23))
    return logs


def all_of_the_logs() -> Rows:
    return messages(25) + messages(31, 100) + messages(5, 200) + samples(23)


def test_files_of_each_kind_are_taken_once_however_old(harbour, logs):
    status, out, errors = run(harbour, logs, "--reason", "The archive of 2017")
    assert (status, errors) == (0, "")
    assert out == (
        "4 files, 4 new batches, 84 rows taken, 0 set aside, 0 here before, 0 files refused"
    )
    assert counted(kept(harbour)) == counted(all_of_the_logs())
    assert names() == [
        *("messages/2017/a.parquet", "messages/b.jsonl", "messages/c.ndjson", "samples/d.csv")
    ]
    entry = AuditEntry.objects.get(object_kind="record_batch")
    assert (entry.action, entry.actor_name, entry.reason) == (
        *("import", "Weir"),
        "The archive of 2017",
    )
    assert entry.after["taken"] == 84
    status, out, _ = run(harbour, logs.as_uri())
    assert status == 0
    assert out.startswith("4 files, 0 new batches, 0 rows taken, 0 set aside, 84 here before")
    assert counted(kept(harbour)) == counted(all_of_the_logs())
    assert [*RecordBatch.objects.values_list("repeats", flat=True)] == [1] * 4
    assert AuditEntry.objects.filter(object_kind="record_batch").count() == 1


@pytest.mark.usefixtures("smaller")
def test_an_object_store_is_read_as_a_folder_is(harbour, logs):
    (logs / "samples/_SUCCESS").write_text("")
    files = [file for file in logs.rglob("*") if file.is_file()]
    objects = {f"year/2017/{file.relative_to(logs)}": file.read_bytes() for file in files}
    with object_store({**objects, "year/2018/messages/x.jsonl": b"{}"}) as options:
        address = f"s3://key:secret@{BUCKET}/year/2017?{options}"
        status, out, errors = run(harbour, address)
        assert (status, errors) == (0, "")
        assert counted(kept(harbour)) == counted(all_of_the_logs())
        # The same files from a disk are the same batches.
        status, out, _ = run(harbour, logs)
        assert ", 0 rows taken, 0 set aside, 84 here before" in out
        status, _, errors = run(harbour, address.replace("2017", "2016"))
        assert status == 2
        assert "there is no such folder" in errors
        assert "secret" not in errors


@pytest.mark.usefixtures("smaller")
def test_a_file_larger_than_a_batch_is_several(harbour, logs):
    assert run(harbour, logs)[0] == 0
    assert counted(kept(harbour)) == counted(all_of_the_logs())
    assert names()[:3] == [f"messages/2017/a.parquet{part}" for part in ("", "#10", "#20")]
    assert sorted(RecordBatch.objects.values_list("rows", flat=True)) == [1, 3, 5, 5, *[10] * 7]
    RecordBatch.objects.get(name="messages/b.jsonl#10").delete()
    status, out, _ = run(harbour, logs)
    assert (status, out) == (
        0,
        "4 files, 1 new batch, 10 rows taken, 0 set aside, 74 here before, 0 files refused",
    )


@pytest.mark.usefixtures("smaller")
def test_cells_of_several_lines_are_cut_nowhere(harbour, tmp_path):
    rows = [{**row, "note": f'of {n}\n"x",\r\n\n'} for n, row in enumerate(messages(25))]
    write(tmp_path / "in/a.csv", rows)
    status, _, errors = run(harbour, tmp_path / "in", "--table", "messages")
    assert (status, errors) == (0, "")
    assert counted(kept(harbour)) == counted(messages(25))
    assert names() == ["a.csv", "a.csv#10", "a.csv#20"]


@pytest.mark.usefixtures("smaller")
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_file_that_changed_is_refused_and_its_rows_are_there_once(harbour, tmp_path, name):
    path = write(tmp_path / "logs/messages" / name, messages(15))
    write(tmp_path / "logs/messages/z.jsonl", messages(2, 500))
    assert run(harbour, tmp_path / "logs")[0] == 0
    # It grew: what was its last batch is another one now.
    write(path, messages(35))
    status, out, errors = run(harbour, tmp_path / "logs")
    assert status == 1
    assert f"import_records: 'messages/{name}': A batch " in errors
    assert "with other rows" in errors
    assert out.startswith("1 file, 0 new batches, 0 rows taken, 0 set aside, ")
    assert counted(kept(harbour)) == counted(messages(15) + messages(2, 500))
    status, _, errors = run(harbour, tmp_path / "logs", "--prefix", "again/")
    assert (status, errors) == (0, "")
    assert f"again/messages/{name}#30" in names()


def test_a_batch_that_grows_beyond_one_has_its_name_still(harbour, tmp_path, monkeypatch):
    path = write(tmp_path / "messages/a.jsonl", messages(8))
    assert run(harbour, tmp_path)[0] == 0
    monkeypatch.setattr(record_files(), "MOST_ROWS", 10)
    write(path, messages(12))
    assert run(harbour, tmp_path)[0] == 1
    assert counted(kept(harbour)) == counted(messages(8))


def test_files_that_cannot_be_read_are_named_and_the_others_taken(harbour, logs):
    write(logs / "messages/torn.parquet", messages(9))
    whole = (logs / "messages/torn.parquet").read_bytes()
    (logs / "messages/torn.parquet").write_bytes(whole[:-20])
    (logs / "messages/empty.parquet").write_bytes(b"")
    (logs / "messages/of-samples.csv").write_text("at_s,broker\n1,b\n")
    (logs / "messages/open.csv").write_text('at_s,topic,publisher\n1,"a,b\n')
    (logs / "messages/latin.csv").write_bytes(b"at_s,topic,publisher\n1,\xe9,b\n")
    (logs / "messages/\u202e.jsonl").write_text("{}")
    # Without rows there is nothing to take, and nothing wrong.
    (logs / "messages/none.jsonl").write_text("\n\n")
    (logs / "messages/head.csv").write_text("at_s,topic,publisher\n")
    write(logs / "messages/no-rows.parquet", messages(1))
    parquet.write_table(
        pa.Table.from_pylist(messages(1)).slice(0, 0), logs / "messages/no-rows.parquet"
    )
    # These are no records by their names.
    (logs / "messages/.part.jsonl").write_text("{")
    (logs / "messages/_SUCCESS").write_text("")
    (logs / "messages/x.jsonl.gz").write_text("")
    (logs / "README.csv").write_text("")
    status, out, errors = run(harbour, logs)
    assert status == 1
    assert out.startswith("7 files, 4 new batches, 84 rows taken, 0 set aside, 0 here before, 6 f")
    assert counted(kept(harbour)) == counted(all_of_the_logs())
    reasons = dict(line[16:].split(": ", 1) for line in errors.splitlines())
    left_out = reasons.pop("2 other files left alone", None)
    assert left_out == "no records by name or folder"
    assert {name.strip("'"): reason[:40] for name, reason in reasons.items()} == {
        "messages/torn.parquet": "rows: cannot be read: Parquet magic bytes"[:40],
        "messages/empty.parquet": "rows: cannot be read: Parquet file size is 0 bytes"[:40],
        "messages/of-samples.csv": "topic: the header has no such column; add it"[:40],
        "messages/open.csv": "rows: line 2 is no CSV: unexpected end of data"[:40],
        "messages/latin.csv": "rows: is not UTF-8; save it as UTF-8 (CSV UTF-8)"[:40],
        "messages/\\u202e.jsonl": "name: holds a character that cannot be shown"[:40],
    }


@pytest.mark.usefixtures("smaller")
def test_what_was_taken_of_a_file_before_its_fault_is_told(harbour, tmp_path):
    path = write(tmp_path / "messages/a.csv", messages(12))
    path.write_bytes(path.read_bytes() + b'"')
    status, _, errors = run(harbour, tmp_path)
    assert status == 1
    assert "line 14 is no CSV: unexpected end of data (10 rows before that)" in errors
    assert counted(kept(harbour)) == counted(messages(10))


@pytest.mark.usefixtures("smaller")
def test_rows_that_do_not_fit_are_set_aside_each_in_its_place(harbour, tmp_path):
    rows = messages(14)
    rows[12]["messages"] = 0
    path = write(tmp_path / "messages/a.jsonl", rows)
    path.write_text(path.read_text() + "\n" + "x" * (3 * 1024 * 1024) + "\n{\n")
    status, out, _ = run(harbour, tmp_path)
    assert status == 1
    assert "13 rows taken, 3 set aside" in out
    aside = SetAsideRow.objects.order_by("row").values_list("batch__name", "row", "problem")
    assert [*aside] == [
        ("messages/a.jsonl#10", 2, "messages: below 1"),
        ("messages/a.jsonl#10", 4, "longer than 64 KiB"),
        ("messages/a.jsonl#10", 5, "is not JSON"),
    ]
    # Again, they are no news.
    assert run(harbour, tmp_path)[0] == 0


def test_what_is_late_is_set_aside_where_that_is_wanted(harbour, tmp_path):
    write(tmp_path / "messages/a.jsonl", messages(3))
    status, out, _ = run(harbour, tmp_path, "--late-after", "3600")
    assert status == 1
    assert "0 rows taken, 3 set aside" in out
    assert SetAsideRow.objects.first().problem.startswith("at_s: late, more than 3,600 s")


@pytest.mark.parametrize(
    ("folder", "options", "words"),
    [
        ("none", (), "there is no such folder"),
        ("empty", (), "holds no file that ends in .parquet, .jsonl, .ndjson, .csv in any of"),
        ("empty", ("--table", "delays"), "holds no file that ends in"),
        ("foo://bucket/logs", (), "cannot be read: Unrecognized filesystem type"),
        ("empty", ("--late-after", "0"), "--late-after: must be 1 second or more"),
    ],
)
def test_what_cannot_be_begun_is_bad_input(harbour, tmp_path, folder, options, words):
    (tmp_path / "empty").mkdir()
    place = folder if "://" in folder else tmp_path / folder
    status, out, errors = run(harbour, place, *options)
    assert (status, out) == (2, "")
    assert words in errors


def test_systems_are_named_as_people_do(harbour, logs):
    errors = io.StringIO()
    call_command("import_records", harbour.name, str(logs), stdout=io.StringIO())
    with pytest.raises(SystemExit) as end:
        call_command("import_records", "quay", str(logs), stderr=errors)
    assert end.value.code == 2
    assert f'no system "quay"; there are: {harbour.name}' in errors.getvalue()


def test_a_disk_that_takes_nothing_ends_the_import(harbour, logs, settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.WEIR_DATA_DIR = str(tmp_path / "file")
    status, out, errors = run(harbour, logs)
    assert (status, out) == (3, "")
    assert "The records cannot be written now" in errors
    assert not RecordBatch.objects.exists()


def test_a_terminal_is_shown_how_far_it_is(harbour, logs):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    errors = Terminal()
    call_command("import_records", harbour.name, str(logs), stderr=errors, stdout=io.StringIO())
    shown = errors.getvalue().split("\r\x1b[K")
    assert shown[1] == "0 of 4 files, 25 rows: 'messages/2017/a.parquet'"
    assert shown[-2:] == ["4 of 4 files, 84 rows: 'samples/d.csv'", ""]


def test_long_paths_have_names_that_batches_may_have(harbour, tmp_path):
    for last in ("a", "b"):
        write(tmp_path / "messages" / ("x" * 200) / f"{last}.jsonl", messages(1))
    assert run(harbour, tmp_path)[0] == 0
    first, second = names()
    assert first.endswith("x/a.jsonl")
    assert first[:16] != second[:16]
    assert max(len(first), len(second)) < 180


def test_a_file_of_more_batches_takes_no_more_memory(tmp_path):
    """Limits as they are; what is allocated of Arrow while each batch is at hand."""
    rows = messages(350_000)
    for name in ("a.parquet", "b.jsonl", "c.csv"):
        write(tmp_path / name, rows)
    folder = record_files().record_folder(tmp_path.as_uri(), "messages")
    for file in folder.files:
        counts, allocated, before = [], [], pa.total_allocated_bytes()
        for part in record_files().parts_of(folder, file):
            read = part.read()
            allocated.append(pa.total_allocated_bytes() - before)
            counts.append((part.first_row, part.rows, len(read)))
            del part, read
        sizes = (100_000, 100_000, 100_000, 50_000)
        assert counts == [(n * 100_000, size, size) for n, size in enumerate(sizes)]
        assert max(allocated) < 1.5 * allocated[0]
        assert pa.total_allocated_bytes() == before


def test_a_row_without_end_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", messages(1))
    path.write_text(path.read_text() + "x" * (2 * 1024 * 1024))
    folder = record_files().record_folder(tmp_path.as_uri(), "messages")
    with pytest.raises(InvalidProblem, match="line 3 is too long for a row"):
        list(record_files().parts_of(folder, folder.files[0]))


def _database() -> str:
    row = connection.settings_dict
    user, password, name = (quote(str(row[key]), safe="") for key in ("USER", "PASSWORD", "NAME"))
    return f"postgres://{user}:{password}@{row['HOST']}:{row['PORT']}/{name}"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("where", "left"), [("between", 2), ("within", 1)])
def test_an_importer_that_is_killed_goes_on_where_it_ended(harbour, logs, settings, where, left):
    place = {"DATABASE_URL": _database(), "WEIR_DATA_DIR": settings.WEIR_DATA_DIR}
    command = [sys.executable, "-m", "tests.apps.records.import_worker"]
    done = subprocess.run(
        [*command, str(harbour.public_id), logs.as_uri(), where, "2"],
        cwd=ROOT,
        env={**os.environ, **place},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    # Who dies within the second batch leaves its file, which counts for nothing.
    assert (RecordBatch.objects.count(), len(kept(harbour))) == (left, 25 + 31)
    imported = records_import(system=harbour, uri=logs.as_uri(), actor=None)
    assert (imported.batches, imported.failed) == (4 - left, [])
    assert counted(kept(harbour)) == counted(all_of_the_logs())
    assert RecordBatch.objects.count() == 4
