"""Write the message that says in Microsoft Teams what is new: an Adaptive Card, as the webhook of a
workflow takes it.

Others' words stand in runs of text alone, where no Markdown acts, and a mention needs a list of
those mentioned, which no card of ours has.
"""

import json
from collections.abc import Sequence
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
"""Items that a message names, where they are short enough."""

LARGEST_BYTES = 27_000
"""Teams takes about 28 KB, and what refuses a larger card does so after the workflow has answered
that it accepts it: nobody here would know."""

WAITING = "Waits for somebody"


def teams_message(
    lines: Sequence[Line], *, web_url: str, timezone: str, missed: Missed | None = None
) -> dict[str, Any]:
    """Return the message: how many before it were given up, what waits, each with its link, then
    what is to be known."""
    zone = ZoneInfo(timezone)
    head = [] if missed is None else [_text(missed_text(missed, zone), isSubtle=True)]
    for count in range(min(len(lines), MOST_LINES), 0, -1):
        message = _message(lines, count, head, web_url, zone)
        if _size(message) <= LARGEST_BYTES:
            return message
    raise AssertionError("one item always fits")


def _size(message: dict[str, Any]) -> int:
    """Return the bytes of a message as it is sent, in the larger of the two encodings in which
    Teams has been seen to count them: an ASCII letter has two bytes in UTF-16."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return max(len(text.encode(encoding)) for encoding in ("utf-8", "utf-16-le"))


def _message(
    lines: Sequence[Line], count: int, head: list[dict[str, Any]], web_url: str, zone: ZoneInfo
) -> dict[str, Any]:
    body = [*head]
    for heading, chosen in headed(lines[:count], WAITING):
        body.append(_text(heading, size="Large", weight="Bolder"))
        body += [_container(line, web_url, zone) for line in chosen]
    if len(lines) > count:
        body.append(_text(f"and {len(lines) - count} more"))
    subject = subject_of(lines)
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": subject,
        "msteams": {"width": "Full"},
        "body": body,
        "actions": [_open(f"{web_url}{INBOX_PAGE}", "Inbox")],
    }
    content = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "summary": subject, "attachments": [content]}


def _container(line: Line, web_url: str, zone: ZoneInfo) -> dict[str, Any]:
    items = [_text(flat(line.title), weight="Bolder")]
    if line.detail:
        items.append(_text(cut(flat(line.detail), LONGEST_DETAIL)))
    items.append(_text(circumstances(line, zone), isSubtle=True))
    items.append({"type": "ActionSet", "actions": [_open(f"{web_url}{line.page}", "Open")]})
    return {"type": "Container", "separator": True, "items": items}


def _text(text: str, **style: Any) -> dict[str, Any]:
    run = {"type": "TextRun", "text": text, **style}
    return {"type": "RichTextBlock", "inlines": [run]}


def _open(address: str, words: str) -> dict[str, Any]:
    return {"type": "Action.OpenUrl", "title": words, "url": address}
