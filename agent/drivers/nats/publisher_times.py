"""Tell when publishers sent, from what the server lists of their connections about once a second.

The server says of each connection how many messages came and when it was active last, to the
nanosecond of its own clock. That is a *moment* of the publisher, a time at which it sent and before
and after which it was quiet, in two cases:

| messages since the reading before | the last activity is |
|---|---|
| exactly one | its time, however long the interval was |
| several, none in the interval before and none in the one after | the end of a short burst |
| several, otherwise | no moment: of whoever sends often, it lies just before the reading |

The last row is why there are such rules at all: if the last message before a reading counted for a
moment, all busy publishers would seem to send together, once a second.

Readings may follow each other more closely than once a second, while publishers have to leave.
Those less than `LEAST_S` after the one before are left out. They would be exact as well, but of a
busy publisher they would give moments only then: those of all of them would gather there.

The server counts more than messages, and `last_activity` is that of either direction:

- An acknowledgement makes a reliable message a little later: by the time the server took to store
  it.
- A notice that lists have changed reaches all publishers at once, and all of them ask where they
  belong. Whoever asked in an interval, and everybody in one with a notice, has no moment in it.
- The first reading of a connection is only a start: logins ask where they belong, too.

All this happens between two turns of the agent's event loop, so no more connections are read than
are reported: those of the names with the lowest ranks (`rank_of`), however many others there are.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from agent.drivers.base import MOST_PUBLISHERS, UNRANKED, PublisherReading, Sent, rank_of

LEAST_S = 0.5
"""Half of the pause between two readings of the connections."""
FEWEST = MOST_PUBLISHERS * 3 // 4
"""Where fewer are reported while others are left out, more are chosen."""
CHOSEN = MOST_PUBLISHERS * 9 // 10
"""So many are chosen at a time: some may come before there are too many."""
KEPT_READINGS = 8
"""For whoever reports less often than the connections are read; older ones are lost."""


class _Seen(NamedTuple):
    """What the server said of one connection."""

    name: str
    came: int
    went: int
    active: str
    """When it was active last, as the server wrote it."""


class PublisherTimes:
    """The moments of the publishers at one server, from one reading of its connections to the
    next."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, whose seconds are never set back."""
        self._clock = clock
        self._read_at = float("-inf")
        self._number = 0
        self._seen: dict[int, _Seen] = {}
        self._ranks: dict[int, int] = {}
        """Connection of a publisher -> the rank of its name."""
        self._last_rank = UNRANKED - 1
        """Who has no higher rank is reported."""
        self._restless: set[str] = set()
        """Publishers that sent in the last interval, or whose connections began or ended in it."""
        self._bursts: dict[str, Sent] = {}
        """Bursts of the last interval, of publishers that were quiet before."""
        self._questions: Counter[str] = Counter()
        self._noticed = False
        self._readings: deque[PublisherReading] = deque(maxlen=KEPT_READINGS)

    @property
    def readings(self) -> tuple[PublisherReading, ...]:
        """Return what the last readings gave, oldest first."""
        return tuple(self._readings)

    def questioned(self, name: str) -> None:
        """Record that a publisher asked where it belongs, which the server counts as a message."""
        self._questions[name] += 1

    def noticed(self) -> None:
        """Record that publishers are notified, which the server counts as their activity."""
        self._noticed = True

    def clear(self) -> None:
        """Record a restart of the server: its connections are others, and count from zero."""
        self._seen, self._bursts, self._restless, self._ranks = {}, {}, set(), {}

    def read(
        self, connections: Sequence[Mapping[str, Any]], name_of: Callable[[int], str | None]
    ) -> None:
        """Take all connections as CONNZ lists them; `name_of` returns the publisher's name of a
        connection, None for others."""
        now = self._clock()
        if now - self._read_at < LEAST_S:
            return
        self._read_at = now
        chosen, left = self._choose(connections, name_of)
        before, self._seen = self._seen, {}
        sent: dict[str, Sent] = {}
        changed: set[str] = set()
        for connection in chosen:
            number = connection["cid"]
            name = name_of(number)
            if name is None:
                continue
            later = self._seen[number] = _Seen(
                name,
                connection.get("in_msgs", 0),
                connection.get("out_msgs", 0),
                connection.get("last_activity", ""),
            )
            earlier = before.get(number)
            if earlier is None or later.came < earlier.came:
                changed.add(name)
            elif later.came > earlier.came:
                sent[name] = _sum(sent.get(name), _sent(earlier, later))
        changed.update(before[number].name for number in before.keys() - self._seen.keys())
        self._report(sent, changed, left)

    def _choose(
        self, connections: Sequence[Mapping[str, Any]], name_of: Callable[[int], str | None]
    ) -> tuple[list[Mapping[str, Any]], int]:
        """Return the connections of publishers that are reported, and how many are left out."""
        before, self._ranks = self._ranks, {}
        chosen: list[Mapping[str, Any]] = []
        ranks, last = self._ranks, self._last_rank
        for connection in connections:
            number = connection["cid"]
            rank = before.get(number)
            if rank is None:
                name = name_of(number)
                if name is None:
                    continue
                rank = rank_of(name)
            ranks[number] = rank
            if rank <= last:
                chosen.append(connection)
        left = len(ranks) - len(chosen)
        if len(chosen) > MOST_PUBLISHERS or (left and len(chosen) < FEWEST):
            ordered = sorted(rank for rank in ranks.values() if rank != UNRANKED)
            few = len(ordered) <= MOST_PUBLISHERS
            wanted = UNRANKED - 1 if few else ordered[CHOSEN - 1]
            if wanted != last:
                self._last_rank = wanted
                chosen = [
                    each for each in connections if ranks.get(each["cid"], UNRANKED) <= wanted
                ]
                left = len(ranks) - len(chosen)
        return chosen, left

    def _report(self, sent: dict[str, Sent], changed: set[str], left: int) -> None:
        """Add a reading of what is known now: of bursts of the interval before, and of all others
        of this one."""
        restless = changed | sent.keys()
        reported = {
            name: burst if name not in restless else Sent(burst.messages, None)
            for name, burst in self._bursts.items()
        }
        bursts: dict[str, Sent] = {}
        for name, row in sent.items():
            questions = self._questions.get(name, 0)
            messages, at_s = row.messages - questions, row.at_s
            if questions or self._noticed:
                at_s = None
            if messages > 1 and name not in self._restless and at_s is not None:
                bursts[name] = row
            elif messages > 0:
                at_s = at_s if messages == 1 else None
                reported[name] = _sum(reported.get(name), Sent(messages, at_s))
        self._bursts, self._restless = bursts, restless
        self._questions.clear()
        self._noticed = False
        if reported or left:
            self._number += 1
            self._readings.append(PublisherReading(number=self._number, sent=reported, left=left))


def _sent(earlier: _Seen, later: _Seen) -> Sent:
    """Return what came over one connection between two readings."""
    messages = later.came - earlier.came
    # The server counts a message a moment before it notes the activity; and whoever got more than
    # it sent got more than acknowledgements, so its last activity may be of that.
    if later.active == earlier.active or later.went - earlier.went > messages:
        return Sent(messages, None)
    return Sent(messages, _unix_s(later.active))


def _sum(one: Sent | None, other: Sent) -> Sent:
    """Return what two connections or two intervals of one publisher gave: the later moment."""
    if one is None:
        return other
    at_s = max((sent.at_s for sent in (one, other) if sent.at_s is not None), default=None)
    return Sent(one.messages + other.messages, at_s)


def _unix_s(moment: str) -> float | None:
    """Return a time that the server wrote in RFC 3339, to the microsecond."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
