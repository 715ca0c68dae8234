"""Write the e-mail that says what is new in somebody's inbox."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from apps.notifications.domain.lines import (
    INBOX_PAGE,
    LONGEST_DETAIL,
    Line,
    circumstances,
    cut,
    flat,
    headed,
)

MOST_LINES = 100
"""Items that a message names; the inbox has the others."""

SETTINGS_PAGE = "/settings/notifications"


def body_of(lines: Sequence[Line], *, web_url: str, timezone: str) -> str:
    """Return the text: what waits first, each with its address, then what is to be known."""
    zone = ZoneInfo(timezone)
    parts = []
    for heading, chosen in headed(lines[:MOST_LINES], "Waits for you"):
        parts.append(f"{heading}\n")
        parts += [_paragraph(line, web_url, zone) for line in chosen]
    if len(lines) > MOST_LINES:
        parts.append(f"And {len(lines) - MOST_LINES} more.\n")
    parts.append(
        f"All that waits for you: {web_url}{INBOX_PAGE}\n"
        f"When and of what you are told: {web_url}{SETTINGS_PAGE}\n"
    )
    return "\n".join(parts)


def _paragraph(line: Line, web_url: str, zone: ZoneInfo) -> str:
    rows = [
        f"* {flat(line.title)}",
        f"  {cut(flat(line.detail), LONGEST_DETAIL)}" if line.detail else "",
        f"  {circumstances(line, zone)}",
        f"  {web_url}{line.page}",
    ]
    return "\n".join(row for row in rows if row) + "\n"
