"""Keep the connections of publishers at one broker, and which of them have to leave.

This module does no input or output: the caller reports what happened at the broker, and the book
answers with which rights a publisher may log in, which connections to close, and which flows
somebody can still publish who is not in their list. It counts on the safe side. A connection counts
from the moment its login is granted until the broker is known to have closed it, and `rest_s`
longer: a broker may still handle what it had read of a connection that it closes. A connection
whose rights this book does not know may publish everything.

Rights are given at login and hold as long as the connection, so whoever may publish what it should
not, or may not publish where it is listed, is notified, has `grace_s` to leave by itself, and is
then to be disconnected. The first list of a flow concerns all publishers of the broker: nobody
knows which of them publish that flow.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from weir.coordination.wire import Publishers

LEAVE_S = 1.0
"""The time that a publisher has to finish what is unacknowledged and to leave by itself."""
REST_S = 0.2
"""The time in which a broker handles what it had read of a connection before it closed it."""
ALL = ""
"""The record of a login that may publish every flow."""


@dataclass(slots=True)
class _Connection:
    """One connection of a publisher."""

    name: str
    record: str
    """The record of the rights that it got at its login."""
    noticed_at: float | None = None
    """When its publisher was notified that it has to leave; None before."""


def _record(denied: frozenset[str]) -> str:
    """Return a short text that stands for the flows that a login may not publish."""
    if not denied:
        return ALL
    text = json.dumps(sorted(denied)).encode()
    return hashlib.sha256(text).hexdigest()[:32]


class PublisherBook:
    """Keep the lists of flows' publishers at one broker, and all publishers' connections."""

    def __init__(
        self,
        *,
        grace_s: float = LEAVE_S,
        rest_s: float = REST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take `clock`, whose seconds are never set back."""
        self._grace_s = grace_s
        self._rest_s = rest_s
        self._clock = clock
        self._lists: Mapping[str, Publishers] = {}
        self._here: dict[str, frozenset[str]] = {}
        self._elsewhere: dict[str, dict[str, str]] = {}
        """Flow -> publisher -> the broker that lets it in: all of them ask at once."""
        self._connections: dict[int, _Connection] = {}
        self._leaving: dict[int, _Connection] = {}
        """Connections whose publisher has to log in anew."""
        self._ended: dict[int, tuple[float, _Connection]] = {}
        """Connections that have just ended, and when."""
        self._order: dict[int, int] = {}
        """Connection -> the number of logins up to and including its own."""
        self._count = 0
        self._records: dict[str, frozenset[str]] = {ALL: frozenset()}
        """Record -> the flows that its logins may not publish, as far as this book knows."""
        self._known: dict[frozenset[str], str] = {frozenset(): ALL}

    def rule(self, lists: Mapping[str, Publishers]) -> None:
        """Set the lists that hold from now on; flows without a list take every publisher."""
        if lists == self._lists:
            return
        self._lists = dict(lists)
        self._here = {flow: frozenset(one.here) for flow, one in lists.items()}
        self._elsewhere = {
            flow: {name: broker for broker, names in one.elsewhere.items() for name in names}
            for flow, one in lists.items()
        }
        self._leaving = {n: c for n, c in self._connections.items() if self._differs(c)}
        for number, connection in self._connections.items():
            if number not in self._leaving:
                connection.noticed_at = None
        used = {c.record for c in (*self._connections.values(), *self._recent())} | {ALL}
        self._records = {text: d for text, d in self._records.items() if text in used}
        self._known = {denied: text for text, denied in self._records.items()}

    def denied(self, name: str) -> frozenset[str]:
        """Return the flows that this publisher may not publish here."""
        return frozenset(flow for flow, here in self._here.items() if name not in here)

    def where(self, flow: str, name: str, *, enters: bool) -> dict[str, str | bool]:
        """Return where a publisher of a flow belongs, as it is answered; `enters`: whether the flow
        enters at this broker. `again`: a connection of its has other rights than it would get now,
        and is about to be closed."""
        one = self._lists.get(flow)
        if name in self._here[flow] if one is not None else enters:
            leaves = any(each.name == name for each in self._leaving.values())
            return {"state": "here", "again": True} if leaves else {"state": "here"}
        if one is None:
            return {"state": "wait"}
        broker = self._elsewhere[flow].get(name)
        if broker is None and one.everyone:
            broker = one.everyone[0]
        if broker is None:
            return {"state": "wait"}
        return {"state": "elsewhere", "broker": broker, "address": one.addresses.get(broker, "")}

    # --- connections

    def name_of(self, connection: int) -> str | None:
        """Return the publisher's name of a connection; None where it is no publisher's."""
        known = self._connections.get(connection)
        return None if known is None else known.name

    def log_in(self, *, name: str, connection: int) -> tuple[frozenset[str], str]:
        """Record that a publisher may log in; return the flows that it may not publish, and the
        record of them for `adopt`."""
        denied = self.denied(name)
        record = self._write(denied)
        self._take(connection, _Connection(name, record))
        return denied, record

    def adopt(self, connection: int, *, name: str, record: str) -> None:
        """Add a connection that this book does not know, such as one that a predecessor of this
        agent let in."""
        if connection not in self._connections:
            self._take(connection, _Connection(name, record))

    def gone(self, connection: int) -> None:
        """Record that the broker closed a connection."""
        known = self._connections.pop(connection, None)
        self._order.pop(connection, None)
        self._leaving.pop(connection, None)
        if known is not None:
            self._ended[connection] = self._clock(), known

    def mark(self) -> int:
        """Return a moment for `present`, counted in logins because clocks may be set back."""
        return self._count

    def present(self, connections: AbstractSet[int], *, as_of: int) -> None:
        """Record all connections of the broker, requested after `mark` returned `as_of`. One that
        was let in before and is not among them has ended: the broker lists a connection even before
        it asks about it."""
        for number in [c for c, order in self._order.items() if order <= as_of]:
            if number not in connections:
                self.gone(number)

    def clear(self) -> None:
        """Record a restart of the broker, which ended all connections."""
        self._connections.clear()
        self._leaving.clear()
        self._order.clear()
        self._ended.clear()

    # --- who has to leave

    @property
    def leaving(self) -> int:
        """Return the number of connections that have to leave."""
        return len(self._leaving)

    def notices(self) -> frozenset[str]:
        """Return the flows whose publishers to notify now, each connection once."""
        flows: set[str] = set()
        for connection in self._leaving.values():
            if connection.noticed_at is None:
                connection.noticed_at = self._clock()
                before = self._records.get(connection.record)
                now = self.denied(connection.name)
                flows |= now ^ before if before is not None else self._here.keys()
        return frozenset(flows)

    def due(self) -> tuple[int, ...]:
        """Return the connections to close, whose time to leave by themselves has passed."""
        latest = self._clock() - self._grace_s
        return tuple(
            number
            for number, connection in self._leaving.items()
            if connection.noticed_at is not None and connection.noticed_at <= latest
        )

    def held(self) -> frozenset[str]:
        """Return the flows that a connection may still publish whose publisher is not in their
        list; call again until it returns none."""
        held: set[str] = set()
        for connection in (*self._leaving.values(), *self._recent()):
            may_not = self._records.get(connection.record, frozenset())
            held |= self.denied(connection.name) - may_not
        return frozenset(held)

    # --- inside

    def _take(self, number: int, connection: _Connection) -> None:
        self._count += 1
        self._connections[number] = connection
        self._order[number] = self._count
        self._ended.pop(number, None)
        if self._differs(connection):
            self._leaving[number] = connection
        else:
            self._leaving.pop(number, None)

    def _differs(self, connection: _Connection) -> bool:
        """Return whether a publisher may publish what it should not, or is kept out where it is
        listed. Who is kept out of what everybody may publish now finds that out by itself."""
        denied = self.denied(connection.name)
        if self._write(denied) == connection.record:
            return False
        may_not = self._records.get(connection.record)
        if may_not is None or not denied <= may_not:
            return True
        return any(connection.name in self._here.get(flow, ()) for flow in may_not - denied)

    def _write(self, denied: frozenset[str]) -> str:
        record = self._known.get(denied)
        if record is None:
            record = self._known[denied] = _record(denied)
            self._records[record] = denied
        return record

    def _recent(self) -> Iterable[_Connection]:
        """Return the connections of which the broker may still handle something."""
        earliest = self._clock() - self._rest_s
        self._ended = {n: e for n, e in self._ended.items() if e[0] > earliest}
        return [connection for _, connection in self._ended.values()]
