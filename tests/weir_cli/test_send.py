"""`weir send` against Weir itself: what becomes of each row, once."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.utils import timezone
from pyarrow import parquet

from apps.accounts.domain.roles import Role
from apps.records.models import RecordBatch
from apps.systems.models import System
from tests.apps.records.files import kept
from tests.factories import make_system, make_user
from tests.weir_cli.terminal import Terminal
from weir_cli import record_files

pytestmark = pytest.mark.django_db
Rows = list[dict[str, Any]]


@pytest.fixture
def harbour(db: None, settings: Any, tmp_path: Path) -> System:
    settings.WEIR_DATA_DIR = str(tmp_path / "data")
    return make_system()


def rows_of(count: int, **more: Any) -> Rows:
    now_s = timezone.now().timestamp()
    return [
        {"at_s": now_s, "topic": "fx", "publisher": "feed", "bytes": n, **more}
        for n in range(count)
    ]


def lines_of(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three rows in each format."""
    rows = rows_of(3)
    (tmp_path / "a.jsonl").write_text(lines_of(rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "b.parquet")
    cells = [",".join(map(str, row.values())) for row in rows]
    (tmp_path / "c.csv").write_text("\n".join([",".join(rows[0]), *cells]))
    return [tmp_path / name for name in ("a.jsonl", "b.parquet", "c.csv")]


def test_files_of_each_format_are_sent_once(weir: Terminal, harbour: System, files: list[Path]):
    assert weir("send", "messages", *files) == 0, weir.err
    assert weir.out == "".join(f"{file}: 3 rows, 3 taken\n" for file in files)
    assert len(kept(harbour)) == 9
    for batch in RecordBatch.objects.all():
        # So the API names them, too: who sends the file by other means sends it again.
        assert batch.name == batch.sha256
    assert weir("send", "messages", *files, "--system", harbour.name) == 0
    assert weir.out == "".join(f"{file}: 3 rows that arrived before\n" for file in files)
    assert len(kept(harbour)) == 9


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("name", ["", "log/1"])
def test_a_large_file_is_several_batches(
    weir: Terminal,
    harbour: System,
    files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    name: str,
):
    monkeypatch.setattr(record_files, "MOST_ROWS", 2)
    assert weir("send", "messages", files[number], *(["--name", name] if name else [])) == 0
    assert weir.out.splitlines() == [
        f"{files[number]}: 2 rows, 2 taken",
        f"{files[number]} from row 2: 1 row, 1 taken",
    ]
    assert sorted(row["bytes"] for row in kept(harbour)) == [0, 1, 2]
    if name:
        assert [*RecordBatch.objects.order_by("id").values_list("name", flat=True)] == [
            *("log/1", "log/1#2")
        ]
    assert weir("send", "messages", files[number], *(["--name", name] if name else [])) == 0
    assert len(kept(harbour)) == 3


def test_rows_set_aside_are_counted_by_problem(weir: Terminal, harbour: System, tmp_path: Path):
    rows = [*rows_of(2), *rows_of(2, messages=0), {**rows_of(1)[0], "at_s": 5}]
    (tmp_path / "a.ndjson").write_text(lines_of(rows))
    assert weir("send", "messages", tmp_path / "a.ndjson") == 1
    assert weir.out.splitlines() == [
        f"{tmp_path / 'a.ndjson'}: 5 rows, 2 taken, 3 set aside",
        "  2  messages: below 1",
        "  1  at_s: late, more than 86,400 s before it arrived",
    ]
    assert weir("send", "messages", tmp_path / "a.ndjson", "--json") == 1
    (answer,) = weir.json
    assert (answer["rows"], answer["accepted"], answer["waiting"], answer["repeats"]) == (
        5,
        2,
        3,
        1,
    )


def test_files_without_rows_are_no_batches(weir: Terminal, harbour: System, tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("")
    (tmp_path / "b.csv").write_text("at_s,topic,publisher\n")
    names = ("at_s", "topic", "publisher")
    nothing = pa.table({name: pa.array([], pa.string()) for name in names})
    parquet.write_table(nothing, tmp_path / "c.parquet")
    files = [tmp_path / name for name in ("a.jsonl", "b.csv", "c.parquet")]
    assert weir("send", "messages", *files) == 0, weir.err
    assert weir.out == "".join(f"{file}: 0 rows\n" for file in files)
    assert not RecordBatch.objects.exists()


def test_standard_input_is_sent(weir: Terminal, harbour: System, monkeypatch: pytest.MonkeyPatch):
    body = lines_of(rows_of(3)).encode()

    def given() -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))

    given()
    assert weir("send", "messages", "-") == 2
    assert "standard input: in which format is it?" in weir.err
    given()
    assert weir("send", "messages", "-", "--format", "jsonl") == 0
    assert weir.out == "standard input: 3 rows, 3 taken\n"
    assert len(kept(harbour)) == 3


def test_a_file_that_is_refused_stops_no_other(
    weir: Terminal, harbour: System, files: list[Path], tmp_path: Path
):
    (tmp_path / "bad.csv").write_text("at_s,topic\n1,a\n")
    (tmp_path / "torn.csv").write_text('at_s,topic\n1,"a\n')
    bad = [tmp_path / name for name in ("bad.csv", "torn.csv")]
    assert weir("send", "messages", *bad, files[0]) == 2
    assert f"weir: {bad[0]}: publisher: the header has no such column; add it" in weir.err
    assert f"weir: {bad[1]}: line 2 is no CSV: unexpected end of data." in weir.err
    assert weir.out == f"{files[0]}: 3 rows, 3 taken\n"
    # Other rows under a name that is taken.
    assert weir("send", "messages", files[0], "--name", "one") == 0
    assert weir("send", "messages", files[2], "--name", "one") == 2
    assert "with other rows" in weir.err


def test_what_cannot_be_begun_sends_nothing(weir: Terminal, harbour: System, files: list[Path]):
    missing = files[0].with_name("none.jsonl")
    assert weir("send", "messages", files[0], missing) == 2
    assert f"{missing}: there is no such file." in weir.err
    assert weir("send", "messages", *files, "--name", "one") == 2
    assert "--name is of one file" in weir.err
    assert not RecordBatch.objects.exists()


def test_who_may_not_send_is_refused_at_once(terminal: Any, harbour: System, files: list[Path]):
    viewer = terminal(make_user("viewer", Role.VIEWER))
    assert viewer("send", "messages", *files) == 2
    assert len(viewer.err.splitlines()) == 1
    assert not RecordBatch.objects.exists()
