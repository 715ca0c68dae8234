"""Decide which neighbours may open a link to our broker, by the public keys in force.

Without input or output: the admission reports who asks and which connections begin and end; this
module answers whom to let in and which connections must end. A link's token names neighbour and
key, so that a restarted agent learns from the connections themselves which links are open.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.drivers.nats import keys, names
from agent.drivers.nats.tokens import ConnectRequest
from weir.coordination.names import token

_KIND = "link"


class LinkAccess:
    """Keep the neighbours' keys, and the connections that they opened."""

    def __init__(self, broker: str) -> None:
        """Take `broker`, our own name in documents."""
        self._broker = broker
        self._keys: dict[str, str] = {}
        self._open: dict[int, tuple[str, str]] = {}
        """Connection -> neighbour and key with which it was opened."""

    def rule(self, public_keys: Mapping[str, str]) -> None:
        """Let these neighbours open links from now on, each with its key; one without a key may
        not."""
        self._keys = {name: key for name, key in public_keys.items() if key}

    def neighbour(self, request: ConnectRequest) -> str | None:
        """Return the neighbour whose agent asks, proven by its signature; None if it may not open a
        link."""
        for name, key in self._keys.items():
            if key == request.nkey:
                good = keys.verifies(
                    key,
                    request.signature,
                    reader=name,
                    owner=self._broker,
                    nonce=request.nonce,
                )
                return name if good and request.nonce else None
        return None

    def record(self, neighbour: str) -> str:
        """Return what the server remembers of a link, as the name of its token."""
        return f"{_KIND}/{token(neighbour)}/{self._keys[neighbour]}"

    def meet(self, connection: int, record: str) -> bool:
        """Record a connection; return False when it is not a link."""
        parts = record.split("/")
        if len(parts) != 3 or parts[0] != _KIND:
            return False
        self._open[connection] = names.name_of(parts[1]), parts[2]
        return True

    def gone(self, connection: int) -> None:
        """Record that the broker closed a connection."""
        self._open.pop(connection, None)

    def present(self, connections: set[int]) -> None:
        """Take the numbers of all connections that the broker has now."""
        self._open = {n: link for n, link in self._open.items() if n in connections}

    def here(self, neighbour: str) -> bool:
        """Return whether the neighbour's agent has a connection now."""
        return any(name == neighbour for name, _ in self._open.values())

    def clear(self) -> None:
        """Forget all connections after a restart of the broker."""
        self._open.clear()

    def stale(self) -> tuple[int, ...]:
        """Return the connections whose neighbour may not open links any more, or has another
        key."""
        return tuple(n for n, (name, key) in self._open.items() if self._keys.get(name) != key)
