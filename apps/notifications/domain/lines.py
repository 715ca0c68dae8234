"""Say what is new in the words that all messages share, by e-mail or in a chat."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

LONGEST_SUBJECT = 150
LONGEST_DETAIL = 500
TO_KNOW = "To know"
INBOX_PAGE = "/inbox"
CHANNELS_PAGE = "/settings/channels"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Messages that a channel never got, as the first one that it gets afterwards names them."""

    count: int
    since: datetime
    """When the first of them was given up."""


def subject_of(lines: Sequence[Line]) -> str:
    """Return the subject: the first thing, and how many more there are. One line, whatever names
    hold."""
    first = lines[0]
    known = first.system == "" or f" {first.system} " in f" {first.title} "
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    text = flat(f"[Weir] {first.title}" if known else f"[Weir] {first.system}: {first.title}")
    return cut(text, LONGEST_SUBJECT - len(more)) + more


def headed(lines: Sequence[Line], waiting: str) -> Iterator[tuple[str, list[Line]]]:
    """Yield what waits below the heading `waiting`, then what is to be known, where there are
    any."""
    for heading, waits in ((waiting, True), (TO_KNOW, False)):
        chosen = [line for line in lines if line.waits is waits]
        if chosen:
            yield heading, chosen


def circumstances(line: Line, zone: ZoneInfo) -> str:
    """Return of which system it is, since when in that time zone, and whether it got worse."""
    system = f"{flat(line.system)}, " if line.system else ""
    worse = ", and it got worse" if line.worse else ""
    return f"{system}since {_moment(line.since, zone)}{worse}"


def missed_text(missed: Missed, zone: ZoneInfo) -> str:
    """Return how many messages were given up, and where what they said still stands."""
    moment = _moment(missed.since, zone)
    if missed.count == 1:
        return (
            f"1 message to this channel was given up, on {moment}. "
            "What still stands of it is in the inbox."
        )
    return (
        f"{missed.count} messages to this channel were given up since {moment}. "
        "What still stands of them is in the inbox."
    )


def _moment(moment: datetime, zone: ZoneInfo) -> str:
    local = moment.astimezone(zone)
    return f"{local:%A %d %B, %H:%M} {local.tzname()}"


def flat(text: str) -> str:
    """Return names and details, which are others' words, in one line: none looks like ours."""
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    """Return the text, its end left out where it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
