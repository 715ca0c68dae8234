"""Which neighbours may open a link to our broker, by the public keys that are in force.

Pure: the admission says who asks and who has come or left, this says whom to let in and whose
connection must end. A link's token names neighbour and key, so that a restarted agent knows from
the connections themselves who is in.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent.drivers.nats import keys, names
from agent.drivers.nats.tokens import ConnectRequest

_KIND = "link"


class LinkAccess:
    """The neighbours' keys, and the connections that were let in by them."""

    def __init__(self, broker: str) -> None:
        """`broker`: our own name in documents."""
        self._broker = broker
        self._keys: dict[str, str] = {}
        self._there: dict[int, tuple[str, str]] = {}
        """Connection -> neighbour and key that it was let in by."""

    def rule(self, public_keys: Mapping[str, str]) -> None:
        """From now on these neighbours may come, each with its key; a name without key may not."""
        self._keys = {name: key for name, key in public_keys.items() if key}

    def neighbour(self, request: ConnectRequest) -> str | None:
        """Whose agent asks, proven by its signature; None: nobody's that may come."""
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
        """What the server remembers of a link, as the name of its token."""
        return f"{_KIND}/{names.token(neighbour)}/{self._keys[neighbour]}"

    def meet(self, connection: int, record: str) -> bool:
        """Take note of a connection; False when it is no link."""
        parts = record.split("/")
        if len(parts) != 3 or parts[0] != _KIND:
            return False
        self._there[connection] = names.name_of(parts[1]), parts[2]
        return True

    def gone(self, connection: int) -> None:
        """The broker closed it."""
        self._there.pop(connection, None)

    def present(self, connections: set[int]) -> None:
        """All connections that the broker has now."""
        self._there = {n: link for n, link in self._there.items() if n in connections}

    def here(self, neighbour: str) -> bool:
        """Whether the neighbour's agent has a connection now."""
        return any(name == neighbour for name, _ in self._there.values())

    def clear(self) -> None:
        """The broker was restarted: all connections are gone."""
        self._there.clear()

    def stale(self) -> tuple[int, ...]:
        """Connections whose neighbour is none any more, or has another key."""
        return tuple(n for n, (name, key) in self._there.items() if self._keys.get(name) != key)
