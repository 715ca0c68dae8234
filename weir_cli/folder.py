"""Write a whole system as a folder of files, and read it back: a contract, see docs/formats.md.

`system.json` says which system it is, with its properties and settings; each kind of object has a
file with one list, sorted by name; `interests.csv` has what subscribers want.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from weir_cli.ending import CommandError
from weir_cli.output import counted

FORMAT = 1
SYSTEM_FILE = "system.json"
INTERESTS_FILE = "interests.csv"
INTERESTS_HEAD = ["subscriber", "topic"]
FILES = {
    "broker": "brokers.json",
    "link": "links.json",
    "overlay": "overlays.json",
    "correlation_key": "correlation-keys.json",
    "group": "groups.json",
    "stream": "streams.json",
    "topic": "topics.json",
    "publisher": "publishers.json",
    "utility_function": "utility-functions.json",
    "consumer_class": "consumer-classes.json",
    "slo": "slos.json",
    "subscriber": "subscribers.json",
}
"""Kind of object, as the API names it -> its file."""
WIDTH = 100
# As the API's tables: a name that a spreadsheet takes for a formula has a mark in front.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFiles:
    """What a folder holds of one system."""

    id: UUID
    properties: Row
    settings: Row
    kinds: dict[str, list[Row]]
    """Kind -> rows; a kind without a file is absent."""
    interests: dict[str, list[str]] | None
    """Subscriber -> topics that it wants; None: the folder leaves interests as they are."""


def write_folder(folder: Path, system: SystemFiles) -> None:
    """Write a system's files in place of those of a former export.

    Raises CommandError where the folder holds something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        own = {SYSTEM_FILE, INTERESTS_FILE, *FILES.values()}
        present = {path.name for path in folder.iterdir()}
        strange = sorted({name for name in present if name.endswith(".json")} - own)
        if SYSTEM_FILE not in present:
            strange = sorted({*strange, *(own & present)})
        if SYSTEM_FILE in present and (other := _head(folder / SYSTEM_FILE))["id"] != system.id:
            name = other["properties"].get("name", other["id"])
            raise CommandError(f'{folder} has the files of another system, "{name}".')
        if strange:
            raise CommandError(
                f"{folder} has {', '.join(strange)}, which no export of a system has written. Name "
                "a folder of its own."
            )
        head = {
            "format": FORMAT,
            "id": str(system.id),
            "properties": system.properties,
            "settings": system.settings,
        }
        texts = {SYSTEM_FILE: _object(head, 0) + "\n"}
        texts |= {FILES[kind]: _rows(rows) for kind, rows in system.kinds.items()}
        if system.interests is not None:
            texts[INTERESTS_FILE] = _interests(system.interests)
        # All of it is on the disk before the first former file is replaced.
        made = [(_written(folder / f".{name}.new", text), name) for name, text in texts.items()]
        for path, name in made:
            path.replace(folder / name)
        for name in own - texts.keys():
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{error.filename or folder}: {error.strerror}.") from error


def _written(path: Path, text: str) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return path


def _rows(rows: Iterable[Row]) -> str:
    parts = [f"  {_object(row, 2)}" for row in sorted(rows, key=lambda row: str(row.get("name")))]
    return "[\n" + ",\n".join(parts) + "\n]\n" if parts else "[]\n"


def _object(row: Mapping[str, Any], indent: int) -> str:
    """Return an object with a line for each member, so that a diff shows which one differs."""
    inner = " " * (indent + 2)
    lines = [
        f"{inner}{json.dumps(name, ensure_ascii=False)}: {_value(value, indent + 2)}"
        for name, value in row.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}" if lines else "{}"


def _value(value: Any, indent: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= WIDTH:
        return text
    if isinstance(value, dict):
        return _object(value, indent)
    if isinstance(value, list):
        inner = " " * (indent + 2)
        lines = [f"{inner}{json.dumps(each, ensure_ascii=False)}" for each in value]
        return "[\n" + ",\n".join(lines) + "\n" + " " * indent + "]"
    return text


def _interests(interests: Mapping[str, Iterable[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(INTERESTS_HEAD)
    for subscriber, topics in sorted(interests.items()):
        writer.writerows([_guarded(subscriber), _guarded(topic)] for topic in sorted(topics))
    return text.getvalue()


def read_folder(folder: Path) -> SystemFiles:
    """Read a system's files. Raises CommandError that names the file, the entry and what is
    wrong."""
    try:
        present = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            raise CommandError(f"{folder}: {error.strerror}.") from error
        present = []
    if SYSTEM_FILE not in present:
        raise CommandError(
            f"{folder} has no {SYSTEM_FILE}; `weir export SYSTEM {folder}` makes one."
        )
    known = {SYSTEM_FILE, INTERESTS_FILE, *FILES.values()}
    for name in present:
        # One that is misspelt would leave its kind as it is, and nobody would notice.
        if name not in known and name.lower().endswith((".json", ".csv")):
            names = ", ".join(sorted(known))
            raise CommandError(f"{folder / name}: no file of a system; these are {names}.")
    head = _head(folder / SYSTEM_FILE)
    kinds = {kind: _list(folder / name) for kind, name in FILES.items() if name in present}
    path = folder / INTERESTS_FILE
    interests = parse_interests(_text(path), str(path)) if path.name in present else None
    if interests is not None:
        if "subscriber" not in kinds:
            raise CommandError(f"{path} needs {FILES['subscriber']} beside it.")
        for number, row in enumerate(kinds["subscriber"]):
            if "interests" in row:
                where = f"{folder / FILES['subscriber']}: [{number}].interests"
                raise CommandError(f"{where}: {INTERESTS_FILE} says what subscribers want.")
    return SystemFiles(**head, kinds=kinds, interests=interests)


def _head(path: Path) -> dict[str, Any]:
    head = _json(path)
    if not isinstance(head, dict):
        raise CommandError(f"{path}: an object is expected, with format, id, properties, settings.")
    for name in head:
        if name not in ("format", "id", "properties", "settings"):
            raise CommandError(f"{path}: {name}: no such member.")
    if head.get("format") != FORMAT:
        raise CommandError(f"{path}: format: {FORMAT} is expected, not {head.get('format')!r}.")
    try:
        key = UUID(head.get("id"))
    except (TypeError, ValueError, AttributeError) as error:
        raise CommandError(
            f"{path}: id: no UUID; it is the id that the system has in Weir."
        ) from error
    for name in ("properties", "settings"):
        if not isinstance(head.get(name, {}), dict):
            raise CommandError(f"{path}: {name}: an object is expected.")
    return {
        "id": key,
        "properties": head.get("properties", {}),
        "settings": head.get("settings", {}),
    }


def _list(path: Path) -> list[Row]:
    rows = _json(path)
    if not isinstance(rows, list):
        raise CommandError(f"{path}: a list of objects is expected.")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise CommandError(f"{path}: [{number}]: an object is expected.")
    return rows


def _json(path: Path) -> Any:
    try:
        value = json.loads(
            _text(path),
            object_pairs_hook=_without_twins,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        text = f"{path}: line {error.lineno}, column {error.colno}: {error.msg}."
        raise CommandError(text) from error
    except UnicodeEncodeError as error:
        raise CommandError(f"{path}: a character is half of a pair.") from error
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    except RecursionError as error:
        raise CommandError(f"{path}: nested too deeply.") from error


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twin}" is given twice in one object.')
    return row


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large a number.")
    return value


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is no number.")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: no UTF-8 (byte {error.start:,}).") from error


def parse_interests(text: str, place: str) -> dict[str, list[str]]:
    """Read the table of interests, as the API exports it, too. Raises CommandError by line."""
    interests: dict[str, dict[str, None]] = {}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if next(reader, None) != INTERESTS_HEAD:
            raise CommandError(f"{place}: line 1: the columns are {','.join(INTERESTS_HEAD)}.")
        for row in reader:
            if not row:
                continue
            if len(row) != 2 or not all(row):
                values = counted(len(row), "value")
                raise CommandError(
                    f"{place}: line {reader.line_num}: a subscriber and a topic are expected, "
                    f"not {values}."
                )
            subscriber, topic = (one[1:] if _MARKED.match(one) else one for one in row)
            # As in an import of interests, a line that repeats another is no error.
            interests.setdefault(subscriber, {})[topic] = None
    except csv.Error as error:
        raise CommandError(f"{place}: line {reader.line_num}: {error}.") from error
    return {subscriber: [*topics] for subscriber, topics in interests.items()}


def _guarded(name: str) -> str:
    return f"'{name}" if _FORMULA.match(name) else name
