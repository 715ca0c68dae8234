"""Print answers for people, or as JSON for programs."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from weir_api.types import Unset

COLOURS = {"+": "32", "-": "31", "~": "33"}


def plain(value: Any) -> str:
    """Return a value as one line of text; what would steer a terminal is written as its code."""
    if value is None or isinstance(value, Unset):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = str(value)
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def figure(value: float) -> str:
    """Return a number as people write it: six digits, thousands apart, no exponent below 10^15."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return (
        f"{value:,.6g}"
        if abs(value) < 1e6
        else f"{value:,.0f}"
        if abs(value) < 1e15
        else f"{value:g}"
    )


def exact(value: Any) -> str:
    """Return a value as it is, with all digits: what people compare and agree to."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return plain(value)
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    return f"{int(value):,}" if abs(value) < 1e15 else repr(value)


def table(rows: Iterable[Sequence[Any]], head: Sequence[str]) -> str:
    """Return rows as aligned columns; numbers stand to the right."""
    lines = [[*head]]
    numeric = [True] * len(head)
    for row in rows:
        lines.append([plain(value) for value in row])
        for column, value in enumerate(row):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                numeric[column] = False
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def as_json(value: Any) -> str:
    """Return what the API answered as JSON."""
    return json.dumps(_jsonable(value), indent=2, ensure_ascii=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, list):
        return [_jsonable(each) for each in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def marked(sign: str, text: str) -> str:
    """Return a line of a difference: `+`, `-` or `~`; in colour on a terminal."""
    line = f"{sign} {text}"
    colour = COLOURS.get(sign)
    return f"\x1b[{colour}m{line}\x1b[0m" if colour and sys.stdout.isatty() else line


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 object`, `2 objects`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
