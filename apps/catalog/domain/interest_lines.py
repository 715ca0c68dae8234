"""Read the interests that a file lists, in pieces: as CSV or as JSON, with errors by line.

Nothing here holds more of the file than a piece of it. What is wrong with one line is collected and
the lines after it are read; a file that is no text, CSV or JSON ends where that shows.
"""

import codecs
import csv
import io
import json
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.common.csv_text import separator_of, unguarded
from apps.common.errors import FieldError
from apps.common.json_reader import MORE_THAN_ONCE, Doubled, Objects

MOST_ERRORS = 100
MOST_LINES = 5_000_000
MOST_CHARACTERS = 200
COLUMNS = ("subscriber", "topic")
PIECE_BYTES = 256 * 1024
LONGEST_LINE_BYTES = 1024 * 1024
LONGEST_ROW_CHARACTERS = 64 * 1024
REMEMBERED_NAMES = 200_000

Line = tuple[int, str, str]
"""Number of a line, name of the subscriber, name of the topic."""


@dataclass(slots=True)
class LineErrors:
    """How many lines were read, right or wrong, and what is wrong: the first hundred of `count`."""

    lines: int = 0
    first: list[FieldError] = field(default_factory=list)
    count: int = 0

    def add(self, line: int, field: str, message: str) -> None:
        """Add what is wrong with a line; lines come in their order."""
        self.count += 1
        if len(self.first) < MOST_ERRORS:
            # A field may be any text of the file, also what the database cannot hold.
            shown = "".join(c if c.isprintable() else "?" for c in field[:60])
            self.first.append(FieldError(field=shown, message=message, line=line))

    def merge(self, others: Sequence[FieldError], count: int) -> None:
        """Add `count` errors of another kind, of which these are the first."""
        both = [*self.first, *others]
        self.first = sorted(both, key=lambda one: one.line or 0)[:MOST_ERRORS]
        self.count += count


class UnreadableFile(Exception):
    """Signal that the file cannot be read beyond a line."""

    def __init__(self, line: int, message: str, field: str = "") -> None:
        super().__init__(message)
        self.line, self.message, self.field = line, message, field


def unpacked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Return what was compressed by zlib, a piece of bounded size at a time."""
    packer = zlib.decompressobj()
    for piece in pieces:
        while piece:
            if out := packer.decompress(piece, PIECE_BYTES):
                yield out
            piece = packer.unconsumed_tail
    if rest := packer.flush():
        yield rest


def interest_lines(
    pieces: Iterable[bytes], *, media_type: str, errors: LineErrors
) -> Iterator[Line]:
    """Return the lines of a file that have nothing wrong with themselves; the rest goes to
    `errors`."""
    read = _json_lines if media_type == "application/json" else _csv_lines
    try:
        yield from read(pieces, errors)
    except UnreadableFile as error:
        errors.add(error.line, error.field, error.message)


class _Names:
    """The names of a file; what is wrong with one is worked out once."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self.read = read
        self.good: dict[str, str] = {}

    def get(self, cell: str) -> str:
        """Return the name that stands in a cell. Raises ValueError with a sentence."""
        name = self.good.get(cell)
        if name is None:
            name = self.read(cell).strip()
            _check(name)
            if len(self.good) >= REMEMBERED_NAMES:
                self.good.clear()
            self.good[cell] = name
        return name

    def pair(self, cells: Sequence[str], line: int, errors: LineErrors) -> Line | None:
        """Return the line of these two cells; None where one is no name."""
        subscriber, topic = map(self.good.get, cells)
        if subscriber is not None and topic is not None:
            return line, subscriber, topic
        names: list[str] = []
        for column, cell in zip(COLUMNS, cells, strict=True):
            try:
                names.append(self.get(cell))
            except ValueError as error:
                errors.add(line, column, str(error))
        return (line, names[0], names[1]) if len(names) == 2 else None


def _check(name: str) -> None:
    if not name:
        raise ValueError("Give a name; this may not be empty.")
    if len(name) > MOST_CHARACTERS:
        raise ValueError(
            f"Has {len(name)} characters; names have at most {MOST_CHARACTERS} characters."
        )
    if name.isprintable():
        return
    categories = {unicodedata.category(character) for character in name}
    if "Cc" in categories:
        raise ValueError("Holds a control character, such as a line break.")
    if "Cs" in categories:
        raise ValueError("Holds half of a surrogate pair; send whole characters.")


def _count(errors: LineErrors, line: int) -> None:
    if errors.lines >= MOST_LINES:
        raise UnreadableFile(
            line, f"One import takes {MOST_LINES:,} lines, and this file has more. Split it."
        )
    errors.lines += 1


def _csv_lines(pieces: Iterable[bytes], errors: LineErrors) -> Iterator[Line]:
    texts = _text_lines(pieces)
    skipped, head = 0, ""
    for head in texts:
        if head.strip():
            break
        skipped += 1
    if not head.strip():
        raise UnreadableFile(1, "The CSV is empty.")
    reader = csv.reader(_again(head, texts), delimiter=separator_of(head), strict=True)
    names, line = _Names(unguarded), 1 + skipped
    places: tuple[int, int] | None = None
    try:
        for cells in reader:
            if places is None:
                places = _places(cells, line)
                width = len(cells)
            elif not "".join(cells).strip():
                # A line without any text says nothing.
                pass
            elif len(cells) == width:
                _count(errors, line)
                pair = names.pair((cells[places[0]], cells[places[1]]), line, errors)
                if pair:
                    yield pair
            else:
                _count(errors, line)
                errors.add(line, "", f"Has {len(cells)} cells, but the header has {width}.")
            line = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise UnreadableFile(line, f"This is not CSV: {error}.") from error


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _places(cells: Sequence[str], line: int) -> tuple[int, int]:
    """Return where the header has subscribers and topics."""
    head = [cell.strip() for cell in cells]
    for name in head:
        if name not in COLUMNS:
            raise UnreadableFile(
                line, "There is no such column; the header is `subscriber,topic`.", field=name
            )
    for name in COLUMNS:
        if head.count(name) != 1:
            often = "lacks" if name not in head else "has more than once"
            raise UnreadableFile(line, f"The header {often} the column `{name}`.", field=name)
    return head.index("subscriber"), head.index("topic")


def _text_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Return the lines of a text with their ends. Raises UnreadableFile that names the line."""
    line = 1
    for block in _blocks(pieces):
        try:
            text = block.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            wrong = line + _ends(block[: error.start])
            raise UnreadableFile(
                wrong,
                f"This is not UTF-8: the line holds the byte 0x{block[error.start]:02X}. "
                "Save it as UTF-8 (CSV UTF-8).",
            ) from error
        for text_line in io.StringIO(text, newline=""):
            if "\0" in text_line:
                raise UnreadableFile(line, "Holds a null character: this is no text.")
            yield text_line
            line += 1


def _ends(block: bytes) -> int:
    """Return how many lines end in it: with a line feed, a carriage return, or both."""
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Return the bytes in blocks of whole lines."""
    rest, lines = b"", 0
    for piece in pieces:
        rest += piece
        if not lines and rest.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise UnreadableFile(1, "This is UTF-16. Save it as UTF-8 (CSV UTF-8).")
        # A carriage return at the very end may be the first half of an end of a line.
        cut = rest.rfind(b"\n") + 1 or rest.rfind(b"\r", 0, len(rest) - 1) + 1
        if cut:
            block, rest = rest[:cut], rest[cut:]
            lines += _ends(block)
            yield block
        if len(rest) > LONGEST_LINE_BYTES:
            raise UnreadableFile(lines + 1, "Is longer than 1 MiB: this is no table of names.")
    if rest:
        yield rest


class _JsonText:
    """Text of JSON that arrives in pieces, with the place up to which it was read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = iter(pieces)
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.values = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=Objects().of)
        self.text, self.at, self.ended, self.broken = "", 0, False, False
        self.row = 1

    def unreadable(self, message: str) -> UnreadableFile:
        return UnreadableFile(self.row, message)

    def more(self) -> bool:
        """Read another piece; return whether there was one."""
        if self.ended:
            return False
        if self.broken:
            raise self.unreadable("This is not UTF-8, in which JSON is sent.")
        piece = next(self.pieces, None)
        self.ended = piece is None
        try:
            fresh = self.decoder.decode(piece or b"", final=self.ended)
        except UnicodeDecodeError as error:
            # What stands before the wrong byte is read first, so that the row is the right one.
            fresh = error.object[: error.start].decode("utf-8-sig")
            self.broken, self.ended = True, False
        self.text, self.at = self.text[self.at :] + fresh, 0
        return True

    def peek(self) -> str:
        """Return the next character that is no white space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, expected: str) -> None:
        """Read one character. Raises UnreadableFile where it is another."""
        here = self.peek()
        if here != expected:
            stands = f"`{here}` stands" if here.isprintable() else "a control character stands"
            stands = stands if here else "the text ends"
            raise self.unreadable(
                f'This is not {{"rows": [...]}}: {stands} where `{expected}` is expected.'
            )
        self.at += 1

    def value(self) -> Any:
        """Read a value, which has to be short."""
        self.peek()
        while True:
            try:
                value, end = self.values.raw_decode(self.text, self.at)
            except RecursionError:
                raise self.unreadable("The JSON is nested too deeply.") from None
            except ValueError as error:
                if len(self.text) - self.at > LONGEST_ROW_CHARACTERS or not self.more():
                    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                    raise self.unreadable(f"This is not JSON: {reason}.") from None
                continue
            # A number at the end of a piece may go on in the next one.
            if end == len(self.text) and not self.ended and self.more():
                continue
            self.at = end
            return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _json_lines(pieces: Iterable[bytes], errors: LineErrors) -> Iterator[Line]:
    text, names = _JsonText(pieces), _Names(str)
    text.take("{")
    key = text.value() if text.peek() == '"' else None
    if key != "rows":
        raise text.unreadable('Send {"rows": [...]}, with no other member.')
    text.take(":")
    text.take("[")
    while text.peek() != "]":
        if errors.lines:
            text.take(",")
        row = text.value()
        _count(errors, text.row)
        cells = _cells(row, text.row, errors)
        pair = names.pair(cells, text.row, errors) if cells else None
        if pair:
            yield pair
        text.row += 1
    text.take("]")
    text.take("}")
    if text.peek():
        raise text.unreadable("Something stands after the end of the JSON.")


def _cells(row: Any, line: int, errors: LineErrors) -> Sequence[str] | None:
    """Return the two names of a row of JSON; None where it has others."""
    if not isinstance(row, dict):
        errors.add(line, "", "Give an object with `subscriber` and `topic`.")
        return None
    if isinstance(row, Doubled):
        errors.add(line, row.name, MORE_THAN_ONCE)
        return None
    wrong = False
    for name in row:
        if name not in COLUMNS:
            errors.add(line, name, "There is no such field.")
            wrong = True
    for name in COLUMNS:
        if not isinstance(row.get(name), str):
            errors.add(line, name, "Give a name." if name not in row else "Give a name, as text.")
            wrong = True
    return None if wrong else (row["subscriber"], row["topic"])
