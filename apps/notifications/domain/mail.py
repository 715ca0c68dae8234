"""Write the message that says what is new in somebody's inbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

LONGEST_SUBJECT = 150
LONGEST_DETAIL = 500
MOST_LINES = 100
"""Items that a message names; the inbox has the others."""

SETTINGS_PAGE = "/settings/notifications"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One item of an inbox, as a message names it."""

    title: str
    detail: str
    system: str
    page: str
    """The path of the page where it is dealt with."""
    since: datetime
    waits: bool
    worse: bool
    """Whether it is known already, and has got worse."""


def subject_of(lines: Sequence[Line]) -> str:
    """Return the subject: the first thing, and how many more there are. One line, whatever names
    hold."""
    first = lines[0]
    known = first.system == "" or f" {first.system} " in f" {first.title} "
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    text = _flat(f"[Weir] {first.title}" if known else f"[Weir] {first.system}: {first.title}")
    return _cut(text, LONGEST_SUBJECT - len(more)) + more


def body_of(lines: Sequence[Line], *, web_url: str, timezone: str) -> str:
    """Return the text: what waits first, each with its address, then what is to be known."""
    zone = ZoneInfo(timezone)
    parts = []
    for heading, waits in (("Waits for you", True), ("To know", False)):
        chosen = [line for line in lines[:MOST_LINES] if line.waits is waits]
        if chosen:
            parts.append(f"{heading}\n")
            parts += [_line(line, web_url, zone) for line in chosen]
    if len(lines) > MOST_LINES:
        parts.append(f"And {len(lines) - MOST_LINES} more.\n")
    parts.append(
        f"All that waits for you: {web_url}/inbox\n"
        f"When and of what you are told: {web_url}{SETTINGS_PAGE}\n"
    )
    return "\n".join(parts)


def _line(line: Line, web_url: str, zone: ZoneInfo) -> str:
    since = line.since.astimezone(zone)
    worse = ", and it got worse" if line.worse else ""
    # Names and details are others' words, in one line each: none looks like ours.
    system = f"{_flat(line.system)}, " if line.system else ""
    rows = [
        f"* {_flat(line.title)}",
        f"  {_cut(_flat(line.detail), LONGEST_DETAIL)}" if line.detail else "",
        f"  {system}since {since:%A %d %B, %H:%M} {since.tzname()}{worse}",
        f"  {web_url}{line.page}",
    ]
    return "\n".join(row for row in rows if row) + "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
