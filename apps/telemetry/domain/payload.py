"""Check what a telemetry message may hold; everything else is refused by name or left out.

All rates are per second over the last interval. Unknown members are dropped, so that a newer
agent can report to an older control plane.
"""

import math
from collections.abc import Mapping
from typing import Any

from weir.errors import InvalidProblem
from weir.queueing.wait_histogram import HIGHEST, LOWEST

MAX_ENTRIES = 20_000
MAX_PUBLISHERS = 5_000
LONGEST_NAME = 200
"""Of publishers: the catalogue has none with a longer name."""
FLOW = (
    *("offered_per_s", "passed_per_s", "shed_per_s"),
    *("limit_per_s", "limit_burst"),
    *("passed_bytes_per_s", "message_bytes", "ack_s"),
    *("backlog", "backlog_peak", "backlog_bytes", "most_messages", "most_bytes", "keep_s"),
    *("bucket_messages", "bucket_held", "bucket_p99_s", "bucket_longest_s"),
    *("work_peak", "work_waiting"),
    *("wait_messages", "wait_p99_s", "wait_mean_s", "wait_longest_s", "gate_longest_s"),
    *("profile_s", "profile_messages", "profile_independent"),
    *("profile_rate_per_s", "profile_size", "profile_publishers"),
    *("profile_mean_s", "profile_mean_low_s", "profile_mean_high_s"),
    *("profile_p99_s", "profile_p99_low_s", "profile_p99_high_s"),
    *("profile_own_p99_s", "profile_own_p99_low_s", "profile_own_p99_high_s"),
)
FLOW_DELAYS = ("gate_delays",)
CLASS_DELAYS = ("delivery_delays", "answer_delays")
"""The members of flows and classes that are no amounts: bins and how many messages each holds."""
MOST_DELAYED = 10**10
"""Messages of all bins together: what an agent that was cut off for a day may have passed. A record
holds a million of them, so a message makes no more than ten thousand records beyond its bins."""
CLASS = (
    *("admitted", "waiting", "limit", "delivered_per_s"),
    *("delivery_longest_s", "answer_longest_s", "skewed", "unanswered", "pauses", "paused_s"),
)
LINK = ("sent_per_s", "received_per_s", "backlog", "backlog_peak")
LOAD = (
    *("connections", "in_msgs_per_s", "out_msgs_per_s", "out_most_per_s"),
    *("in_bytes_per_s", "out_bytes_per_s"),
    *("entered_per_s", "entered_most_per_s", "entered_ago_s"),
    *("cpu_ratio", "cores", "memory_bytes"),
    *("stored_bytes", "most_stored_bytes"),
)
AGENT = ("began_at", "cpu_s", "forwarded", "waiting_bytes", "memory_bytes")
LOST = (
    "broker_away",
    "too_large",
    "ingress_full",
    "link_full",
    "link_away",
    "not_read",
    "unreadable",
    "multicast_full",
    "multicast_away",
    "unheard",
)
"""The reasons for lost messages; counts are by flow, as totals since the agent began."""

TIMING_SHARE = 0.25
"""The relative tolerance of the comparisons of gates and classes with their broker."""
TIMING_PER_S = 20.0
"""The absolute tolerance in messages a second."""


def storable(text: str) -> bool:
    """Return whether Postgres takes the text: it holds no zero character and no half of a surrogate
    pair."""
    return "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def _object(plain: object, path: str) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise InvalidProblem(path, "must be an object")
    return plain


def _amount(value: object, path: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidProblem(path, f"must be a finite number, not {str(value)[:40]!r}")
    if value < 0:
        raise InvalidProblem(path, f"must not be negative: {value}")
    return value


def _amounts(plain: object, names: tuple[str, ...], path: str) -> dict[str, float | int]:
    known = _object(plain, path)
    return {name: _amount(known[name], f"{path}.{name}") for name in names if name in known}


def _table(plain: object, names: tuple[str, ...], path: str) -> dict[str, dict[str, float | int]]:
    rows = _object(plain, path)
    if len(rows) > MAX_ENTRIES:
        raise InvalidProblem(path, f"holds {len(rows)} entries; at most {MAX_ENTRIES}")
    if not all(storable(name) for name in rows):
        raise InvalidProblem(path, "holds a name that cannot be kept")
    return {name: _amounts(row, names, f"{path}.{name}") for name, row in rows.items()}


def _delayed(
    plain: object, names: tuple[str, ...], delays: tuple[str, ...], path: str
) -> dict[str, dict[str, Any]]:
    """Return entries with their amounts, and with the bins of `delays`."""
    rows: dict[str, dict[str, Any]] = {**_table(plain, names, path)}
    counted = 0
    for name, row in _object(plain, path).items():
        for member in delays:
            if member in row:
                bins = rows[name][member] = _delays(row[member], f"{path}.{name}.{member}")
                counted += sum(messages for _, messages in bins)
    if counted > MOST_DELAYED:
        raise InvalidProblem(path, f"count more than {MOST_DELAYED:,} messages by their delay")
    return rows


def _delays(plain: object, path: str) -> list[list[int]]:
    """Return bins of delays and how many messages each holds."""
    if not isinstance(plain, list | tuple):
        raise InvalidProblem(path, "must be a list of bins")
    counts: dict[int, int] = {}
    for row in plain:
        if not isinstance(row, list | tuple) or len(row) != 2:
            raise InvalidProblem(path, "must hold lists of bin and messages")
        bin_, messages = row
        if isinstance(bin_, bool) or not isinstance(bin_, int) or not LOWEST <= bin_ <= HIGHEST:
            raise InvalidProblem(path, f"must name bins from {LOWEST} to {HIGHEST}")
        if not _is_count(messages, 2**53) or not messages:
            raise InvalidProblem(path, f"must count messages, not {str(messages)[:40]!r}")
        if bin_ in counts:
            raise InvalidProblem(path, f"names the bin {bin_} twice")
        counts[bin_] = messages
    return [[bin_, messages] for bin_, messages in counts.items()]


def _publishers(plain: object, path: str) -> dict[str, tuple[int, float | None]]:
    """Return how much each publisher sent in the interval, and when, in Unix seconds; None where
    its moments could not be told apart."""
    rows = _object(plain, path)
    if len(rows) > MAX_PUBLISHERS:
        raise InvalidProblem(path, f"holds {len(rows)} publishers; at most {MAX_PUBLISHERS}")
    if not all(len(name) <= LONGEST_NAME and storable(name) for name in rows):
        raise InvalidProblem(path, "holds a name that cannot be kept")
    reported: dict[str, tuple[int, float | None]] = {}
    for name, row in rows.items():
        where = f"{path}.{name}"
        if not isinstance(row, list | tuple) or len(row) != 2:
            raise InvalidProblem(where, "must be a list of messages and time")
        messages, at_s = row
        if not _is_count(messages, 2**53):
            raise InvalidProblem(where, f"must begin with a count, not {str(messages)[:40]!r}")
        reported[name] = messages, None if at_s is None else float(_amount(at_s, where))
    return reported


def _is_count(value: object, limit: int) -> bool:
    """Return whether it is a whole number from zero to below the limit."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit


def telemetry_checked(plain: object) -> dict[str, Any]:
    """Return the known part of a telemetry message; `publishers` only where the agent reports them.
    Raises InvalidProblem naming the member."""
    known = _object(plain, "telemetry")
    load = _object(known.get("broker", {}), "telemetry.broker")
    broker: dict[str, Any] = dict(_amounts(load, LOAD, "telemetry.broker"))
    unmanaged = load.get("unmanaged", [])
    names = isinstance(unmanaged, list) and all(
        isinstance(name, str) and storable(name) for name in unmanaged
    )
    if not names:
        raise InvalidProblem("telemetry.broker.unmanaged", "must be a list of names")
    broker["unmanaged"] = unmanaged[:MAX_ENTRIES]
    sync_always = load.get("sync_always")
    if sync_always is not None and not isinstance(sync_always, bool):
        raise InvalidProblem("telemetry.broker.sync_always", "must be true, false or null")
    broker["sync_always"] = sync_always
    sample = {
        "interval_s": _amount(known.get("interval_s", 1.0), "telemetry.interval_s"),
        "flows": _delayed(known.get("flows", {}), FLOW, FLOW_DELAYS, "telemetry.flows"),
        "classes": _delayed(known.get("classes", {}), CLASS, CLASS_DELAYS, "telemetry.classes"),
        "links": _table(known.get("links", {}), LINK, "telemetry.links"),
        "lost": _table(known.get("lost", {}), LOST, "telemetry.lost"),
        "broker": broker,
        "agent": _amounts(known.get("agent", {}), AGENT, "telemetry.agent"),
    }
    if known.get("publishers") is not None:
        sample["publishers"] = _publishers(known["publishers"], "telemetry.publishers")
    if (left := known.get("publishers_left")) is not None:
        if not _is_count(left, 2**31):
            raise InvalidProblem("telemetry.publishers_left", "must be a count")
        sample["publishers_left"] = left
    suspect = contradiction(sample)
    return {**sample, "suspect": suspect} if suspect else sample


def contradiction(sample: Mapping[str, Any]) -> str:
    """Return why a sample cannot be true, as a sentence; empty where nothing contradicts it.

    Whatever the broker gives to consumers is among the messages that it sends. An agent reads the
    counts of consumers a moment before the broker's own, so what was sent in that moment of the
    reading before may be among the deliveries of this sample; newer agents say how much it was.
    """
    load = sample["broker"]
    if of_gates := gates_contradiction(load):
        return of_gates
    sent = load.get("out_most_per_s", load.get("out_msgs_per_s"))
    delivered = sum(row.get("delivered_per_s", 0.0) for row in sample["classes"].values())
    if sent is None or delivered <= (1 + TIMING_SHARE) * sent + TIMING_PER_S:
        return ""
    return (
        f"Its classes were given {delivered:,.0f} messages a second, and the broker sent"
        f" {sent:,.0f} in all."
    )


def gates_contradiction(load: Mapping[str, Any]) -> str:
    """Return why what entered at gates cannot be true, as a sentence; empty where nothing
    contradicts it.

    Whatever enters has come to the broker. Agents that compare both over the same time report how
    much that was, of an interval that may have ended some samples before.
    """
    entered, came = load.get("entered_per_s", 0.0), load.get("entered_most_per_s")
    if came is None or entered <= (1 + TIMING_SHARE) * came + TIMING_PER_S:
        return ""
    return (
        f"Its gates let {entered:,.0f} messages a second in, and {came:,.0f} came to the broker in"
        " all."
    )
