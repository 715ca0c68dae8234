"""Searches for publishers that burst together as JSON bytes: the only parser of both formats.

The question, where agents measured it and where a recording holds the messages:

    {"format": 1, "topic": "depth",
     "source": {"kind": "measured", "since_s": 1700000000, "until_s": 1700001800, "untimed": 12,
      "untimed_messages": 9000, "wrong_clock": 0, "unreported": 0, "shortened": false},
     "publishers": ["s-1", "s-2"], "counts": [2, 1], "messages": [2, 5],
     "times": "<base64 of zlib of float64>"}
    {"format": 1, "topic": "depth",
     "source": {"kind": "recording", "name": "day.parquet", "bytes": 123, "modified_s": 1700000000}}

`times` are Unix seconds, little-endian, by publisher and ascending; `counts` says how many each
has, `messages` how many it sent. `topic_id`, which may be left out, is the topic's id in the
catalogue. More on each member, and the answer: docs/formats.md.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from weir.codec.json_text import object_from_json
from weir.correlation.activity import Activity, Search, messages_of
from weir.correlation.suggested import ExampleRow, Group, Period, Suggested
from weir.errors import InvalidProblem
from weir.plugins import from_dict
from weir.reading import amount, each, encodable, items, members, number, shown, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
METHOD = "coincidences"
MOST_TIMES = 10**9
MOST_COUNT = 10**15
LEFT_OUT = ("untimed", "untimed_messages", "wrong_clock", "unreported")
"""How many, of what was heard but is not in the activity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording by its name in the folder of recordings, as it was when the run was asked."""

    name: str
    size_bytes: int
    modified_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationSnapshot:
    """What is searched: an activity that was measured, or a recording."""

    topic: str
    activity: Activity | None = None
    topic_id: str = ""
    """The topic's id in the catalogue; empty where nobody knows it."""
    untimed: int = 0
    """Publishers that were heard too often for their moments to be told apart."""
    untimed_messages: int = 0
    """What publishers sent that are not in the activity."""
    wrong_clock: int = 0
    """Publishers of which no moment is known because their brokers' clocks are wrong."""
    unreported: int = 0
    """Connections of which agents report nothing, because their brokers have too many."""
    shortened: bool = False
    """Whether older reports were left out because there were too many."""
    recording: Recording | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationAnswer:
    """The groups of one topic with what was searched."""

    topic: str
    search: Search
    suggested: Suggested
    untimed: int = 0
    method: str = METHOD


def search_from_dict(parameters: Mapping[str, Any]) -> Search:
    """Return the search that parameters of a run describe; InvalidProblem names field and bound."""
    return from_dict(Search, dict(parameters))


def search_to_dict(search: Search) -> dict[str, Any]:
    """Return the parameters that describe a search."""
    return {
        "within_s": search.within_s,
        "least_share": search.least_share,
        "smallest_group": search.smallest_group,
        "false_groups": search.false_groups,
    }


def snapshot_bytes(snapshot: CorrelationSnapshot) -> bytes:
    """Return the canonical JSON of a question: equal questions give equal bytes."""
    plain: dict[str, Any] = {"format": FORMAT, "topic": snapshot.topic}
    if snapshot.topic_id:
        plain["topic_id"] = snapshot.topic_id
    activity, recording = snapshot.activity, snapshot.recording
    if activity is not None:
        plain["source"] = {
            "kind": "measured",
            "since_s": float(activity.since_s),
            "until_s": float(activity.until_s),
            "shortened": snapshot.shortened,
            **{name: getattr(snapshot, name) for name in LEFT_OUT},
        }
        plain["publishers"] = list(activity.names)
        plain["counts"] = np.diff(activity.starts).tolist()
        plain["messages"] = messages_of(activity).tolist()
        packed = zlib.compress(np.ascontiguousarray(activity.at_s, dtype="<f8").tobytes(), 6)
        plain["times"] = base64.b64encode(packed).decode()
    elif recording is not None:
        plain["source"] = {
            "kind": "recording",
            "name": recording.name,
            "bytes": recording.size_bytes,
            "modified_s": float(recording.modified_s),
        }
    else:
        raise InvalidProblem("source", "must be a measured activity or a recording; give one")
    return _text(plain)


def snapshot_from_json(raw: bytes) -> CorrelationSnapshot:
    """Return the checked question that the bytes hold. Raises InvalidProblem naming the field."""
    measured = ("publishers", "counts", "messages", "times")
    common = ("format", "topic", "source")
    top = members(object_from_json(raw), "", common, ("topic_id", *measured))
    _check_format(top["format"])
    topic = _name(top["topic"], "topic")
    topic_id = _name(top["topic_id"], "topic_id") if "topic_id" in top else ""
    source = top["source"]
    kind = source.get("kind") if isinstance(source, dict) else None
    if kind == "recording":
        given = members(source, "source", ("kind", "name", "bytes", "modified_s"))
        recording = Recording(
            name=_name(given["name"], "source.name"),
            size_bytes=whole(given["bytes"], "source.bytes"),
            modified_s=number(given["modified_s"], "source.modified_s"),
        )
        return CorrelationSnapshot(topic=topic, topic_id=topic_id, recording=recording)
    if kind != "measured":
        raise InvalidProblem("source.kind", f"must be measured or recording, not {shown(kind)}")
    given = members(source, "source", ("kind", "since_s", "until_s", "shortened", *LEFT_OUT))
    members(top, "", (*common, *measured), ("topic_id",))
    since_s = number(given["since_s"], "source.since_s")
    until_s = number(given["until_s"], "source.until_s")
    if until_s < since_s:
        raise InvalidProblem("source.until_s", "must not be before since_s")
    if not isinstance(given["shortened"], bool):
        raise InvalidProblem("source.shortened", "must be true or false")
    left_out: Any = {
        name: whole(given[name], f"source.{name}", most=MOST_COUNT) for name in LEFT_OUT
    }
    return CorrelationSnapshot(
        topic=topic,
        topic_id=topic_id,
        shortened=given["shortened"],
        activity=_activity(top, since_s, until_s),
        **left_out,
    )


def _activity(top: Mapping[str, Any], since_s: float, until_s: float) -> Activity:
    names = each(top["publishers"], "publishers", _name)
    for at in range(1, len(names)):
        if names[at] <= names[at - 1]:
            raise InvalidProblem(f"publishers[{at}]", "must ascend, each name once; sort them")
    counts = each(top["counts"], "counts", lambda entry, path: whole(entry, path, most=MOST_TIMES))
    if len(counts) != len(names):
        raise InvalidProblem("counts", f"must be {len(names):,}, one a publisher")
    sent = each(top["messages"], "messages", lambda n, path: whole(n, path, most=MOST_COUNT))
    if len(sent) != len(names):
        raise InvalidProblem("messages", f"must be {len(names):,}, one a publisher")
    starts = np.concatenate([[0], np.cumsum(np.array(counts, dtype=np.int64))]).astype(np.int64)
    times = _times(top["times"], int(starts[-1]))
    if not np.isfinite(times).all():
        at = int(np.argmin(np.isfinite(times)))
        raise InvalidProblem("times", f"must be finite, but number {at:,} is not")
    falls = np.flatnonzero(np.diff(times) < 0) + 1
    falls = falls[~np.isin(falls, starts)]
    if len(falls):
        raise InvalidProblem(
            "times", f"number {falls[0]:,} comes before its predecessor; sort them"
        )
    for at, (messages, count) in enumerate(zip(sent, counts, strict=True)):
        if messages < count:
            raise InvalidProblem(f"messages[{at}]", f"must be at least its {count:,} times")
    return Activity(
        names=names,
        starts=starts,
        at_s=times,
        since_s=since_s,
        until_s=until_s,
        messages=np.array(sent, dtype=np.int64),
    )


def _times(text: object, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(text, str):
        raise InvalidProblem("times", f"must be base64 of zlib of float64, not {shown(text)}")
    try:
        # One byte more than is due tells a text that is too long without unpacking all of it.
        packed = base64.b64decode(text, validate=True)
        raw = zlib.decompressobj().decompress(packed, 8 * count + 1)
    except (binascii.Error, ValueError, zlib.error):
        raise InvalidProblem("times", "must be base64 of zlib of float64") from None
    if len(raw) != 8 * count:
        raise InvalidProblem("times", f"must be {count:,} times, as the counts say")
    return np.frombuffer(raw, dtype="<f8").astype(np.float64)


def answer_to_dict(answer: CorrelationAnswer) -> dict[str, Any]:
    """Return the published form of an answer (docs/formats.md)."""
    suggested = answer.suggested
    return {
        "format": FORMAT,
        "topic": answer.topic,
        "method": answer.method,
        "search": search_to_dict(answer.search),
        "since_s": suggested.since_s,
        "until_s": suggested.until_s,
        "messages": suggested.messages,
        "publishers": suggested.publishers,
        "judged": suggested.judged,
        "too_few": suggested.too_few,
        "periodic": suggested.periodic,
        "untimed": answer.untimed,
        "periods": [
            {
                "period_s": period.period_s,
                "publishers": period.publishers,
                "grouped": period.grouped,
            }
            for period in suggested.periods
        ],
        "groups": [
            {
                "kind": group.kind,
                "members": list(group.members),
                "share": group.share,
                "by_chance": group.by_chance,
                "spread_s": group.spread_s,
                "bursts": group.bursts,
                "period_s": group.period_s,
                "phase_s": group.phase_s,
                "rate_per_s": group.rate_per_s,
                "example": {
                    "since_s": group.example_since_s,
                    "until_s": group.example_until_s,
                    "rows": [
                        {"publisher": row.publisher, "at_s": list(row.at_s)}
                        for row in group.example
                    ],
                },
            }
            for group in suggested.groups
        ],
    }


def answer_bytes(answer: CorrelationAnswer) -> bytes:
    """Return the canonical JSON of an answer: equal answers give equal bytes."""
    return _text(answer_to_dict(answer))


def answer_from_json(raw: bytes) -> CorrelationAnswer:
    """Return the checked answer that the bytes hold. Raises InvalidProblem naming the field."""
    counts = ("messages", "publishers", "judged", "too_few", "periodic", "untimed")
    required = ("format", "topic", "method", "search", "since_s", "until_s", *counts)
    top = members(object_from_json(raw), "", (*required, "periods", "groups"))
    _check_format(top["format"])
    count = {name: whole(top[name], name, most=MOST_COUNT) for name in counts}
    return CorrelationAnswer(
        topic=_name(top["topic"], "topic"),
        method=_name(top["method"], "method"),
        search=from_dict(Search, top["search"], "search"),
        untimed=count.pop("untimed"),
        suggested=Suggested(
            since_s=number(top["since_s"], "since_s"),
            until_s=number(top["until_s"], "until_s"),
            periods=each(top["periods"], "periods", _period),
            groups=each(top["groups"], "groups", _group),
            **count,
        ),
    )


def _period(obj: object, path: str) -> Period:
    given = members(obj, path, ("period_s", "publishers", "grouped"))
    return Period(
        period_s=amount(given["period_s"], f"{path}.period_s"),
        publishers=whole(given["publishers"], f"{path}.publishers"),
        grouped=whole(given["grouped"], f"{path}.grouped"),
    )


def _group(obj: object, path: str) -> Group:
    amounts = ("share", "by_chance", "spread_s", "rate_per_s")
    given = members(
        obj, path, ("kind", "members", *amounts, "bursts", "period_s", "phase_s", "example")
    )
    if given["kind"] not in ("event", "period"):
        raise InvalidProblem(f"{path}.kind", f"must be event or period, not {shown(given['kind'])}")
    example = members(given["example"], f"{path}.example", ("since_s", "until_s", "rows"))
    return Group(
        kind=cast('Literal["event", "period"]', given["kind"]),
        members=each(given["members"], f"{path}.members", _name),
        bursts=whole(given["bursts"], f"{path}.bursts"),
        period_s=_amount_or_none(given["period_s"], f"{path}.period_s"),
        phase_s=_amount_or_none(given["phase_s"], f"{path}.phase_s"),
        example_since_s=number(example["since_s"], f"{path}.example.since_s"),
        example_until_s=number(example["until_s"], f"{path}.example.until_s"),
        example=each(example["rows"], f"{path}.example.rows", _row),
        **{name: amount(given[name], f"{path}.{name}") for name in amounts},
    )


def _row(obj: object, path: str) -> ExampleRow:
    given = members(obj, path, ("publisher", "at_s"))
    return ExampleRow(
        publisher=_name(given["publisher"], f"{path}.publisher"),
        at_s=tuple(number(time, f"{path}.at_s") for time in items(given["at_s"], f"{path}.at_s")),
    )


def _amount_or_none(value: object, path: str) -> float | None:
    return None if value is None else amount(value, path)


def _check_format(value: object) -> None:
    if value != FORMAT:
        raise InvalidProblem("format", f"must be {FORMAT}, not {shown(value)}")


def _name(value: object, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidProblem(path, f"must be a text that is not empty, not {shown(value)}")
    return encodable(value, path)


def _text(plain: object) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
