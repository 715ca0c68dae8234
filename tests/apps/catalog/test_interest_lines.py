"""Reading the interests that a file lists: dialects, pieces of any size, errors by line."""

import csv
import io
import json
import zlib
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog.domain import interest_lines as reading
from apps.catalog.domain.interest_lines import LineErrors, interest_lines, unpacked
from apps.common.csv_text import guarded

CSV, JSON = "text/csv", "application/json"


def cut(raw: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


def read(raw: bytes, media_type: str = CSV, size: int = 7) -> tuple[list[reading.Line], LineErrors]:
    errors = LineErrors()
    return list(interest_lines(cut(raw, size), media_type=media_type, errors=errors)), errors


def complaints(errors: LineErrors) -> list[tuple[int | None, str, str]]:
    return [(one.line, one.field, one.message) for one in errors.first]


def wrong(raw: bytes, media_type: str = CSV, size: int = 7) -> list[tuple[int | None, str, str]]:
    return complaints(read(raw, media_type, size)[1])


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_every_dialect_reads_the_same(separator: str, end: str, mark: str, size: int) -> None:
    table = [["subscriber", "topic"], ["a", "x"], ['b "b"', "y"], ["", ""], ["é", "z"]]
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator=end).writerows(table)
    lines, errors = read((mark + out.getvalue()).encode(), size=size)
    assert lines == [(2, "a", "x"), (3, 'b "b"', "y"), (5, "é", "z")]
    assert errors.count == 0
    assert errors.lines == 3


def test_columns_may_stand_the_other_way_round_and_names_are_trimmed() -> None:
    assert read(b" topic ,subscriber\nx,  a \n")[0] == [(2, "a", "x")]


def test_lines_before_the_header_count() -> None:
    lines, errors = read(b"\n \n\nsubscriber,topic\na,x\n\na\n")
    assert lines == [(5, "a", "x")]
    assert complaints(errors) == [(7, "", "Has 1 cells, but the header has 2.")]


def test_a_quoted_name_with_a_line_break_counts_its_lines() -> None:
    lines, errors = read(b'subscriber,topic\n"a\nb",x\nc,y\n')
    assert lines == [(4, "c", "y")]
    assert complaints(errors) == [
        (2, "subscriber", "Holds a control character, such as a line break.")
    ]


def test_the_mark_of_a_spreadsheet_is_taken_away() -> None:
    names = ["=sum(a1)", "'=b", "@c", "-d", "+e", "'f"]
    raw = "subscriber,topic\n" + "".join(f"{guarded(name)},x\n" for name in names)
    assert [subscriber for _, subscriber, _ in read(raw.encode())[0]] == names


def test_errors_name_lines_and_columns() -> None:
    long = "n" * 201
    raw = f"subscriber,topic\na\n,x\na,\na,x,y\n{long},x\nok,x\n".encode()
    lines, errors = read(raw)
    assert lines == [(7, "ok", "x")]
    assert complaints(errors) == [
        (2, "", "Has 1 cells, but the header has 2."),
        (3, "subscriber", "Give a name; this may not be empty."),
        (4, "topic", "Give a name; this may not be empty."),
        (5, "", "Has 3 cells, but the header has 2."),
        (6, "subscriber", "Has 201 characters; names have at most 200 characters."),
    ]
    assert errors.lines == 6


@pytest.mark.parametrize(
    ("raw", "line", "part"),
    [
        (b"", 1, "The CSV is empty"),
        (b"\n\n", 1, "The CSV is empty"),
        (b"subscriber,topics\na,x\n", 1, "no such column"),
        (b"subscriber\na\n", 1, "lacks the column `topic`"),
        (b"topic,subscriber,topic\na,x,y\n", 1, "more than once the column `topic`"),
        (b"subscriber,topic\na,x\nb,\xff\n", 3, "holds the byte 0xFF"),
        (b"subscriber,topic\r\na,x\r\nb,\xe9\r\n", 3, "holds the byte 0xE9"),
        (b"subscriber,topic\na,x\nb,\0\n", 3, "null character"),
        ("subscriber,topic\na,x\n".encode("utf-16"), 1, "This is UTF-16"),
        (b'subscriber,topic\na,x\nb,"y\nc,z\n', 3, "This is not CSV"),
        (b'subscriber,topic\na,"x"y\n', 2, "This is not CSV"),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_file_that_cannot_be_read_ends_at_its_line(
    raw: bytes, line: int, part: str, size: int
) -> None:
    ((at, _, message),) = wrong(raw, size=size)
    assert at == line
    assert part in message


def test_what_was_wrong_before_the_end_of_reading_is_kept() -> None:
    assert [line for line, _, _ in wrong(b"subscriber,topic\na\nb,x\nc,\xff\n")] == [2, 4]


def test_a_line_without_an_end_is_not_held_in_memory() -> None:
    pieces = 0

    def endless() -> Iterator[bytes]:
        nonlocal pieces
        yield b"subscriber,topic\n"
        while True:
            pieces += 1
            yield b"a" * 100_000

    errors = LineErrors()
    assert list(interest_lines(endless(), media_type=CSV, errors=errors)) == []
    assert pieces < 20
    assert complaints(errors) == [(2, "", "Is longer than 1 MiB: this is no table of names.")]


def test_an_open_quote_is_not_held_in_memory() -> None:
    pieces = 0

    def endless() -> Iterator[bytes]:
        nonlocal pieces
        yield b'subscriber,topic\na,x\n"b'
        while True:
            pieces += 1
            yield b"c\n" * 50_000

    errors = LineErrors()
    assert len(list(interest_lines(endless(), media_type=CSV, errors=errors))) == 1
    assert pieces < 20
    assert [one.line for one in errors.first] == [3]


def test_only_the_first_hundred_errors_are_kept() -> None:
    raw = b"subscriber,topic\n" + b"a\n" * 250 + b"b,x\n"
    lines, errors = read(raw, size=1000)
    assert lines == [(252, "b", "x")]
    assert (errors.count, len(errors.first), errors.lines) == (250, 100, 251)
    assert [one.line for one in errors.first] == list(range(2, 102))


@pytest.mark.parametrize("media_type", [CSV, JSON])
def test_more_lines_than_the_limit_are_refused(
    media_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LINES", 3)
    rows = [{"subscriber": "a", "topic": f"t{k}"} for k in range(5)]
    three, four = (table(rows[:n], media_type) for n in (3, 4))
    assert wrong(three, media_type) == []
    ((line, _, message),) = wrong(four, media_type)
    assert line == (5 if media_type == CSV else 4)
    assert "One import takes 3 lines" in message


def table(rows: Iterable[dict[str, str]], media_type: str) -> bytes:
    if media_type == JSON:
        return json.dumps({"rows": list(rows)}).encode()
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["subscriber", "topic"])
    writer.writerows([guarded(row["subscriber"]), guarded(row["topic"])] for row in rows)
    return out.getvalue().encode()


NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp", "Cn"]), min_size=1, max_size=12
)
ROWS = st.lists(st.fixed_dictionaries({"subscriber": NAMES, "topic": NAMES}), max_size=12)


@given(rows=ROWS, size=st.integers(1, 40), media_type=st.sampled_from([CSV, JSON]))
def test_what_was_written_is_read_whatever_the_pieces(
    rows: list[dict[str, str]], size: int, media_type: str
) -> None:
    lines, errors = read(table(rows, media_type), media_type, size)
    first = 2 if media_type == CSV else 1
    assert lines == [(first + k, row["subscriber"], row["topic"]) for k, row in enumerate(rows)]
    assert errors.count == 0


@given(raw=st.binary(max_size=60) | st.text(max_size=60).map(str.encode), size=st.integers(1, 9))
def test_any_bytes_are_read_or_refused(raw: bytes, size: int) -> None:
    for media_type in (CSV, JSON):
        lines, errors = read(raw, media_type, size)
        whole, same = read(raw, media_type, 1000)
        assert (lines, complaints(errors)) == (whole, complaints(same))
        for one in errors.first:
            json.dumps([one.field, one.message]).encode()
            assert "\0" not in one.field + one.message


def rows_of(*rows: object) -> bytes:
    return json.dumps({"rows": rows}).encode()


def test_rows_of_json_are_numbered_from_one() -> None:
    raw = rows_of(
        {"subscriber": "a", "topic": "x"},
        {"subscriber": "a"},
        {"subscriber": 3, "topic": "x"},
        {"subscriber": "a", "topic": "x", "why": 1},
        ["a", "x"],
        {"subscriber": "a\0", "topic": "\ud800"},
        {"topic": "y", "subscriber": " b "},
    )
    lines, errors = read(raw, JSON)
    assert lines == [(1, "a", "x"), (7, "b", "y")]
    assert complaints(errors) == [
        (2, "topic", "Give a name."),
        (3, "subscriber", "Give a name, as text."),
        (4, "why", "There is no such field."),
        (5, "", "Give an object with `subscriber` and `topic`."),
        (6, "subscriber", "Holds a control character, such as a line break."),
        (6, "topic", "Holds half of a surrogate pair; send whole characters."),
    ]


def test_a_member_that_a_row_has_twice_is_refused_at_its_row() -> None:
    raw = b'{"rows": [{"subscriber": "a", "topic": "x", "topic": "y"}, ' + rows_of(
        {"subscriber": "a", "topic": "x"}
    ).removeprefix(b'{"rows": [')
    for size in (1, 100_000):
        lines, errors = read(raw, JSON, size)
        assert lines == [(2, "a", "x")]
        assert complaints(errors) == [(1, "topic", "Is there more than once; send it once.")]


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"", 1),
        (b"[]", 1),
        (b'{"lines": []}', 1),
        (b'{"rows": {}}', 1),
        (b'{"rows": [], "reason": "x"}', 1),
        (b'{"rows": []} {}', 1),
        (b'{"rows": [{"subscriber": "a", "topic": "x"}', 2),
        (b'{"rows": [{"subscriber": "a", "topic": "x"},]}', 2),
        (b'{"rows": [{"subscriber": "a", "topic": NaN}]}', 1),
        (b'{"rows": [{"subscriber": "a", "topic": "x"} {}]}', 2),
        (b'{"rows": [{"subscriber": "\xff"}]}', 1),
        (b'{"rows": [' + b"[" * 60_000 + b"]}", 1),
        (b'{"rows": ["' + b"x" * 200_000 + b'"]}', 1),
    ],
)
@pytest.mark.parametrize("size", [1, 100_000])
def test_what_is_no_such_json_is_refused_at_its_row(raw: bytes, line: int, size: int) -> None:
    if size == 1 and len(raw) > 1000:
        size = 1000
    lines, errors = read(raw, JSON, size)
    assert errors.count == 1
    assert errors.first[0].line == line
    assert len(lines) == line - 1


@given(raw=st.binary(max_size=3000), size=st.integers(1, 500))
def test_compressed_pieces_are_unpacked(raw: bytes, size: int) -> None:
    assert b"".join(unpacked(cut(zlib.compress(raw, 1), size))) == raw


def test_much_that_was_compressed_well_comes_in_bounded_pieces() -> None:
    sizes = [len(piece) for piece in unpacked([zlib.compress(bytes(20_000_000), 1)])]
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= reading.PIECE_BYTES
