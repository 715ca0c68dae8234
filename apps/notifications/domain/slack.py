"""Write the message that says in Slack what is new.

Others' words stand in `plain_text` alone, where no markup acts; all the same what Slack reads as
control characters is escaped, and no word begins with the @ of a mention: chats that take the same
messages may show the fallback text instead of blocks, and read it in their own way.
"""

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any
from zoneinfo import ZoneInfo

from apps.notifications.domain.lines import (
    INBOX_PAGE,
    LONGEST_DETAIL,
    Line,
    Missed,
    circumstances,
    cut,
    flat,
    headed,
    missed_text,
    subject_of,
)

MOST_LINES = 20
"""Items that a message names. Slack takes 50 blocks, and an item has two."""

LONGEST_TEXT = 3_000
"""Characters of a text, as they are sent."""

WAITING = "Waits for somebody"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MENTION = re.compile(r"(?<!\w)@(?=\w)")
_NO_MENTION = "@\u2060"
"""With a word joiner, which nobody sees."""


def slack_message(
    lines: Sequence[Line], *, web_url: str, timezone: str, missed: Missed | None = None
) -> dict[str, Any]:
    """Return the message: how many before it were given up, what waits, each with its link, then
    what is to be known."""
    zone = ZoneInfo(timezone)
    inbox = _link(f"{web_url}{INBOX_PAGE}", "Inbox")
    blocks: list[dict[str, Any]] = []
    if missed is not None:
        elements = [_plain(missed_text(missed, zone)), inbox]
        blocks.append({"type": "context", "elements": elements})
    for heading, chosen in headed(lines[:MOST_LINES], WAITING):
        blocks.append({"type": "header", "text": _plain(heading)})
        for line in chosen:
            blocks += _blocks(line, web_url, zone)
    more = len(lines) - MOST_LINES
    rest = [_plain(f"and {more} more")] if more > 0 else []
    blocks.append({"type": "context", "elements": [*rest, inbox]})
    return {
        "text": _escaped(subject_of(lines)),
        "mrkdwn": False,
        "unfurl_links": False,
        "blocks": blocks,
    }


def _blocks(line: Line, web_url: str, zone: ZoneInfo) -> list[dict[str, Any]]:
    words = [flat(line.title) or "…", cut(flat(line.detail), LONGEST_DETAIL)]
    elements = [_link(f"{web_url}{line.page}", "Open"), _plain(circumstances(line, zone))]
    return [
        {"type": "section", "text": _plain("\n".join(word for word in words if word))},
        {"type": "context", "elements": elements},
    ]


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": _escaped(text), "emoji": False}


def _link(address: str, words: str) -> dict[str, Any]:
    address = _escaped(address).replace("|", "%7C")
    return {"type": "mrkdwn", "text": f"<{address}|{words}>", "verbatim": True}


def _escaped(text: str) -> str:
    """Return the text as it is sent, its end left out where that is too long: never half an
    escape."""
    pieces = [_ESCAPES.get(letter, letter) for letter in _MENTION.sub(_NO_MENTION, text)]
    lengths = list(accumulate(map(len, pieces)))
    if not lengths or lengths[-1] <= LONGEST_TEXT:
        return "".join(pieces)
    kept = sum(length < LONGEST_TEXT for length in lengths)
    return "".join(pieces[:kept]).rstrip() + "…"
