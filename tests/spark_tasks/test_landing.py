"""Batches of records: rows are read and checked one by one, and kept as files, each once."""

import json
import os
import uuid
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from spark_tasks.landing import batch_files, days_of, land, remove_files, unland
from spark_tasks.pipeline import compute_here
from spark_tasks.records import DELAY_KINDS
from spark_tasks.sent_records import (
    CSV,
    EARLY_S,
    JSON_LINES,
    MOST_DAYS,
    PARQUET,
    check_batch,
    rows_again,
    sent_rows,
)
from weir.errors import InvalidProblem

NOW_S = 1_795_953_600.0
MESSAGE = {"at_s": NOW_S - 1.5, "topic": "fx", "publisher": "p"}
DAY_S = 86_400.0


def lines(*rows: object) -> bytes:
    return b"".join(
        row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows
    )


def checked(body: bytes, *, media_type=JSON_LINES, table="messages", late_after_s=DAY_S):
    rows = sent_rows(body, media_type, table)
    return check_batch(rows, table, now_s=NOW_S, late_after_s=late_after_s)


def problems(batch) -> dict[int, str]:
    return {each.row: each.problem for each in batch.set_aside}


def packed(rows: list[dict], schema=None) -> bytes:
    out = BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), out)
    return out.getvalue()


def test_rows_that_fit_have_all_columns_and_the_others_their_first_problem():
    batch = checked(
        lines(
            {**MESSAGE, "bytes": 220, "colour": "red"},
            b"\n",
            {**MESSAGE, "topic": None},
            b"{not json}\n",
            {**MESSAGE, "messages": 0},
            {**MESSAGE, "messages": 1.0},
            {**MESSAGE, "messages": True},
            {**MESSAGE, "at_s": "2026-11-29T00:00:00+01:00"},
            b"[1, 2]\n",
            {**MESSAGE, "topic": "a\u0000b"},
            {**MESSAGE, "topic": "x" * 201},
            {**MESSAGE, "topic": 7},
            {**MESSAGE, "bytes": 10**30},
            {**MESSAGE, "at_s": "yesterday"},
            {**MESSAGE, "topic": "\ud800"},
        )
    )
    assert batch.rows.to_pylist() == [
        {**MESSAGE, "broker": "", "messages": 1, "bytes": 220},
        {
            **MESSAGE,
            "at_s": datetime(2026, 11, 28, 23, tzinfo=UTC).timestamp(),
            **{"broker": "", "messages": 1, "bytes": 0},
        },
    ]
    assert problems(batch) == {
        1: "topic: null",
        2: "is not JSON",
        3: "messages: below 1",
        4: "messages: must be a whole number",
        5: "messages: must be a whole number",
        7: "is no JSON object",
        8: "topic: holds a character that cannot be shown",
        9: "topic: longer than 200 characters",
        10: "topic: must be text",
        11: "bytes: above 4,294,967,296",
        12: "at_s: must be Unix seconds or a time by ISO 8601",
        13: "topic: holds a character that cannot be shown",
    }
    assert json.loads(batch.set_aside[0].content) == {**MESSAGE, "topic": None}


def test_late_and_early_rows_are_set_aside_at_their_limits():
    offsets = [-DAY_S - 0.25, -DAY_S, EARLY_S, EARLY_S + 0.25]
    batch = checked(lines(*({**MESSAGE, "at_s": NOW_S + each} for each in offsets)))
    assert [row["at_s"] - NOW_S for row in batch.rows.to_pylist()] == offsets[1:3]
    assert problems(batch) == {
        0: "at_s: late, more than 86,400 s before it arrived",
        3: "at_s: more than 300 s ahead of the clock of Weir",
    }
    again = checked(lines({**MESSAGE, "at_s": 0}), late_after_s=None)
    assert not again.set_aside


def test_the_same_rows_are_the_same_from_every_format():
    rows = [
        {
            **{"at_s": NOW_S - 2, "topic": "fx", "subscriber": "s", "consumer_class": "gold"},
            **{"broker": "b", "origin": "", "delay_s": 0.25, "messages": 2, "bytes": 5},
        },
        {
            **{"at_s": NOW_S - 1, "topic": "é, 1", "subscriber": "s", "consumer_class": ""},
            **{"broker": "", "origin": "c", "delay_s": None, "messages": 1, "bytes": 0},
        },
    ]
    header = ",".join(rows[0])
    table = "".join(
        ",".join("" if cell is None else f'"{cell}"' for cell in row.values()) + "\r\n"
        for row in rows
    )
    bodies = {
        JSON_LINES: lines(*rows),
        CSV: f"\ufeff{header}\r\n{table}".encode(),
        PARQUET: packed(rows),
    }
    for media_type, body in bodies.items():
        batch = checked(body, media_type=media_type, table="deliveries")
        assert batch.rows.to_pylist() == rows, media_type
        assert not batch.set_aside
        assert (batch.since_s, batch.until_s) == (NOW_S - 2, NOW_S - 1)


def test_delays_are_the_same_from_every_format_and_their_kind_is_one_of_three():
    row = {
        **{"at_s": NOW_S - 1, "topic": "fx", "kind": "gate", "consumer_class": "", "broker": ""},
        **{"delay_s": 0.25, "messages": 3},
    }
    given = [row, {**row, "kind": "queue"}, {**row, "kind": "gate "}, {**row, "kind": None}]
    table = "".join(
        ",".join("" if cell is None else str(cell) for cell in each.values()) + "\r\n"
        for each in given
    )
    bodies = {
        JSON_LINES: lines(*given),
        CSV: f"{','.join(row)}\r\n{table}".encode(),
        PARQUET: packed(given),
    }
    known = "kind: must be delivery, answer or gate"
    for media_type, body in bodies.items():
        batch = checked(body, media_type=media_type, table="delays")
        assert batch.rows.to_pylist() == [row], media_type
        assert problems(batch) == {1: known, 2: known, 3: "kind: null"}
    short = {name: row[name] for name in ("at_s", "topic", "kind", "delay_s")}
    batch = checked(lines(*({**short, "kind": kind} for kind in DELAY_KINDS)), table="delays")
    assert [each["messages"] for each in batch.rows.to_pylist()] == [1, 1, 1]
    assert not batch.set_aside


@pytest.mark.parametrize("number", ["1_000", "١٢", "0x10", " 5", "1e400", "nan", "1" * 41])
def test_numbers_of_a_csv_have_one_notation(number):
    body = f"at_s,broker,metric,value\n{NOW_S},b,cpu_ratio,{number}\n".encode()
    batch = checked(body, media_type=CSV, table="samples")
    assert len(batch.rows) == 0
    assert problems(batch)[0].startswith("value: ")


@pytest.mark.parametrize(
    ("body", "media_type", "path"),
    [
        (b"\n\n", JSON_LINES, "rows"),
        (b"at_s,topic\n1,fx\n", CSV, "publisher"),
        (b"at_s,topic,topic,publisher\n", CSV, "topic"),
        (b"at_s,topic,publisher\n1,\xff,p\n", CSV, "rows"),
        (b'at_s,topic,publisher\n1,"fx,p\n', CSV, "rows"),
        (b"PAR1 and nothing else", PARQUET, "rows"),
        (packed([{"at_s": 1.0, "topic": "fx"}]), PARQUET, "publisher"),
        (packed([{**MESSAGE, "messages": "two"}]), PARQUET, "messages"),
    ],
)
def test_what_cannot_be_read_at_all_is_refused_with_its_place(body, media_type, path):
    with pytest.raises(InvalidProblem) as refused:
        sent_rows(body, media_type, "messages")
    assert refused.value.path == path
    assert refused.value.message


def test_rows_are_set_aside_from_csv_and_parquet_so_that_they_can_be_read_again():
    table = "at_s,topic,publisher,messages\n1,fx,p,2\n1,fx\n,fx,p,1\n"
    times = pa.schema([("at_s", pa.timestamp("us")), ("topic", pa.string())])
    schema = times.append(pa.field("publisher", pa.string()))
    moment = datetime(2020, 1, 2, 3, 4, 5, 600_000)
    rows = [{"at_s": moment, "topic": "fx", "publisher": "p"}]
    for body, media_type in ((table.encode(), CSV), (packed(rows, schema), PARQUET)):
        batch = checked(body, media_type=media_type)
        late = batch.set_aside[0]
        again = check_batch(
            rows_again([(late.row, late.content)], "messages"),
            "messages",
            now_s=NOW_S,
            late_after_s=None,
        )
        assert not again.set_aside
    assert again.since_s == moment.replace(tzinfo=UTC).timestamp()
    assert problems(checked(table.encode(), media_type=CSV))[1] == "has 2 cells, the header 4"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
CELLS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON
        for name in ("at_s", "topic", "kind", "subscriber", "delay_s", "messages", "broker")
    },
)


@given(
    rows=st.lists(JSON | CELLS, min_size=1, max_size=8),
    table=st.sampled_from(["deliveries", "messages", "delays"]),
)
def test_every_row_is_kept_or_set_aside_with_a_problem(rows, table):
    batch = checked(lines(*rows), table=table)
    assert len(batch.rows) + len(batch.set_aside) == len(rows)
    assert all(each.problem and len(each.problem) <= 200 for each in batch.set_aside)


FITTING = st.fixed_dictionaries(
    {
        "at_s": st.integers(-(2**53), 2**53) | st.floats(-1e12, 1e12),
        "topic": st.text(max_size=4) | st.sampled_from(["fx", "x" * 201, "a\u200bb"]),
        "subscriber": st.sampled_from(["s", "é"]),
    },
    optional={
        "delay_s": st.none() | st.floats(-1, 2e6, allow_nan=False) | st.integers(0, 9),
        "messages": st.none() | st.integers(-3, 2_000_000),
        "bytes": st.integers(0, 2**62) | st.none(),
        "extra": JSON,
    },
)


@given(rows=st.lists(FITTING, min_size=1, max_size=6), odd=st.none() | JSON | CELLS)
def test_rows_read_together_are_those_that_are_read_one_by_one(rows, odd):
    body = lines(*rows, *([] if odd is None else [odd]))
    batch = checked(body, table="deliveries")
    each = enumerate(line for line in body.split(b"\n") if line)
    alone = check_batch(
        rows_again(each, "deliveries"), "deliveries", now_s=NOW_S, late_after_s=DAY_S
    )
    assert batch.rows.equals(alone.rows)
    assert list(batch.set_aside) == list(alone.set_aside)


@pytest.mark.parametrize(
    "body",
    [
        b'{"at_s": 1, "topic": "fx", "publisher": "p"}{}\n{"a": [\n]}\n',
        b'{"at_s": 1, "topic": "fx", "publisher": "p", "at_s": 2}\n',
        b'{"at_s": 1, "topic": "fx", "publisher": "p", "a": ' + b"[" * 900 + b"]" * 900 + b"}\n",
        b'\xef\xbb\xbf{"at_s": 1, "topic": "fx", "publisher": "p"}\n',
        b'{"at_s": 1, "topic": "\xff", "publisher": "p"}\n',
        b'{"at_s": 1, "topic": "fx", "publisher": "p", "bytes": 1e2}\r\n',
        b'{"at_s": 1, "topic": "fx", "publisher": "p", "extra": {"b": 1}}\n\n \n',
        b'{"at_s": 01, "topic": "fx", "publisher": "p"}\n',
        b'{"at_s": NaN, "topic": "fx", "publisher": "p"}\n',
    ],
)
def test_odd_lines_are_read_alike_together_and_alone(body):
    batch = checked(body, late_after_s=None)
    each = enumerate(line.strip() for line in body.split(b"\n") if line.strip())
    alone = check_batch(rows_again(each, "messages"), "messages", now_s=NOW_S, late_after_s=None)
    assert batch.rows.equals(alone.rows)
    assert list(batch.set_aside) == list(alone.set_aside)


def test_a_batch_lies_by_day_and_is_written_over_by_its_repeat(tmp_path):
    uri, batch = tmp_path.as_uri(), uuid.uuid4()
    moments = [NOW_S - 1, NOW_S - DAY_S, NOW_S - 2, -0.5]
    rows = checked(lines(*({**MESSAGE, "at_s": at} for at in moments)), late_after_s=None).rows
    for _ in range(2):
        land(uri, "messages", batch, rows)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [str(file.relative_to(tmp_path)) for file in files] == [
        f"messages/date={date}/batch-{batch}.parquet"
        for date in ("1969-12-31", "2026-11-28", "2026-11-29")
    ]
    assert batch_files(uri, "messages", batch) == [str(file) for file in files]
    assert batch_files(uri, "messages", uuid.uuid4()) == []
    out = tmp_path / "facts"
    summary = json.loads(compute_here(uri, out.as_uri(), window_s=60, report=lambda *_: None))
    assert summary["records"] == {"messages": {"rows": 4, "used": 4, "quarantined": {}}}


def test_a_batch_that_is_landed_again_has_no_day_of_the_attempt_before(tmp_path):
    uri, batch, other = tmp_path.as_uri(), uuid.uuid4(), uuid.uuid4()
    for each in (other, batch):
        days = (lines({**MESSAGE, "at_s": day * DAY_S}) for day in range(3))
        land(uri, "messages", each, checked(b"".join(days), late_after_s=None).rows)
    rows = checked(lines({**MESSAGE, "at_s": DAY_S}), late_after_s=None).rows
    land(uri, "messages", batch, rows)
    (file,) = batch_files(uri, "messages", batch)
    assert "date=1970-01-02" in file
    assert len(batch_files(uri, "messages", other)) == 3
    unland(uri, "messages", other)
    assert [str(path) for path in tmp_path.rglob("*.parquet")] == [file]


def test_a_moment_is_of_one_day_however_near_to_its_border():
    moments = [-5e-324, -0.0, 0.0, 5e-324, DAY_S, float(np.nextafter(DAY_S, 0))]
    rows = checked(lines(*({**MESSAGE, "at_s": at} for at in moments)), late_after_s=None).rows
    assert days_of(rows["at_s"].to_numpy()).tolist() == [-1, 0, 0, 0, 1, 0]


def test_rows_beyond_a_thousand_days_are_set_aside():
    days = [{**MESSAGE, "at_s": day * DAY_S} for day in range(MOST_DAYS + 1, -1, -1)]
    batch = checked(lines(*days, {**MESSAGE, "at_s": 9 * DAY_S}), late_after_s=None)
    words = "at_s: the batch is of more than 1,000 days"
    assert problems(batch) == {0: words, 1: words}
    assert len(batch.rows) == MOST_DAYS + 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30", "Mars/Olympus", "+99:99"])
def test_moments_that_no_calendar_has_are_set_aside_as_they_are(unit, zone):
    kind = pa.timestamp(unit, tz=zone)
    # A file has seconds as milliseconds.
    most = (1 << 62) // (1000 if unit == "s" else 1)
    ticks = [0, most, -most, None]
    columns = {"at_s": pa.array(ticks, pa.int64()).cast(kind), "topic": [""] * 4}
    out = BytesIO()
    parquet.write_table(pa.table({**columns, "publisher": ["p"] * 4}), out, version="2.6")
    batch = checked(out.getvalue(), media_type=PARQUET)
    assert len(batch.set_aside) == 4
    assert json.loads(batch.set_aside[0].content)["at_s"].startswith("1970-01-01T00:00:00")
    assert all(each.whole for each in batch.set_aside)


def test_texts_that_a_file_packs_are_counted_as_long_as_they_are():
    rows = 5000
    table = pa.table(
        {"at_s": [1.0] * rows, "topic": ["z" * 30_000] * rows, "publisher": ["p"] * rows}
    )
    out = BytesIO()
    parquet.write_table(table, out, compression="zstd")
    assert len(out.getvalue()) < 100_000
    with pytest.raises(InvalidProblem, match="texts are longer than 128 MiB"):
        sent_rows(out.getvalue(), PARQUET, "messages")


def test_files_without_a_batch_are_removed_once_they_are_old(tmp_path):
    uri, kept, gone = tmp_path.as_uri(), uuid.uuid4(), uuid.uuid4()
    for batch, moments in ((kept, [NOW_S]), (gone, [NOW_S, NOW_S - DAY_S])):
        rows = checked(lines(*({**MESSAGE, "at_s": at_s} for at_s in moments))).rows
        land(uri, "messages", batch, rows)
    folder = next(tmp_path.glob("messages/date=*")).parent
    unfinished = folder / "date=2026-11-29" / f".batch-{kept}.parquet-{uuid.uuid4()}"
    other = folder / "date=2026-11-29" / "notes.txt"
    unfinished.write_bytes(b"half")
    other.write_text("of a person")
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        os.utime(file, (1000.0, 1000.0))
    assert remove_files(uri, kept={kept}.__contains__, unchanged_since_s=1000.0) == 0
    assert remove_files(uri, kept={kept}.__contains__, unchanged_since_s=1001.0) == 3
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {f"batch-{kept}.parquet", "notes.txt"}
    assert [path.name for path in folder.iterdir()] == ["date=2026-11-29"]
    other.unlink()
    assert remove_files(uri, kept=lambda _: False, unchanged_since_s=1001.0) == 1
    assert not tmp_path.exists()
    assert (
        remove_files((tmp_path / "none").as_uri(), kept=lambda _: True, unchanged_since_s=9e9) == 0
    )
    assert not Path(tmp_path / "none").exists()
