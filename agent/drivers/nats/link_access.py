"""Decide which neighbours may open a link to our broker, by the public keys in force.

Keys are ed25519, as NATS' nkeys. An agent that connects to a neighbour's broker signs the random
number (nonce) that the broker sent for this connection. The neighbour's agent verifies it with the
public key in the control plane's document. The signature is useless anywhere else: it names both
ends of the link, so that a broker cannot pass it on to a third one, and the next connection has
another nonce.

Without input or output: the admission reports who asks and which connections begin and end; this
module answers whom to let in and which connections must end. A link's token names neighbour and
key, so that a restarted agent learns from the connections themselves which links are open.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets as random
from collections.abc import Mapping

import nacl.exceptions
import nacl.signing
import nkeys

from agent.drivers.nats import names
from agent.drivers.nats.tokens import ConnectRequest
from weir.coordination.wire import token

_KIND = "link"


def new_seed(kind: int = nkeys.PREFIX_BYTE_USER) -> str:
    """Return a new private key; `kind` is one of the prefixes of nkeys."""
    seed: bytes = nkeys.encode_seed(random.token_bytes(32), kind)
    return seed.decode()


def public_key(seed: str, kind: int | None = None) -> str:
    """Return the public half of a seed, as a key of another `kind` when one is given.

    Raises ValueError.
    """
    try:
        prefix, raw = nkeys.decode_seed(bytearray(seed.encode()))
    except nkeys.NkeysError as error:
        raise ValueError(f"not the seed of an nkey: {error}") from error
    body = bytes([prefix if kind is None else kind]) + bytes(
        nacl.signing.SigningKey(bytes(raw)).verify_key
    )
    checked = body + int(nkeys.crc16(body)).to_bytes(2, "little")
    return base64.b32encode(checked).decode()


def _raw(public: str) -> bytes:
    """Return the 32 bytes of a user's public key. Raises ValueError."""
    try:
        plain = base64.b32decode(public)
    except (binascii.Error, ValueError) as error:
        raise ValueError("not a public nkey") from error
    body, check = plain[:-2], plain[-2:]
    if len(plain) != 35 or plain[0] != nkeys.PREFIX_BYTE_USER:
        raise ValueError("not the public nkey of a user")
    if int(nkeys.crc16(body)).to_bytes(2, "little") != check:
        raise ValueError("a public nkey with a wrong checksum")
    return body[1:]


def _signed(reader: str, owner: str, nonce: str) -> bytes:
    # JSON, so that no name can run into the next one.
    return json.dumps(["weir link 1", reader, owner, nonce]).encode()


class LinkKey:
    """Sign with an agent's own key for its links."""

    def __init__(self, seed: str) -> None:
        """Take the `seed`. Raises ValueError when it is not one."""
        self.public = public_key(seed)
        _, raw = nkeys.decode_seed(bytearray(seed.encode()))
        self._key = nacl.signing.SigningKey(bytes(raw))

    def sign(self, *, reader: str, owner: str, nonce: str) -> str:
        """Return the proof for the broker of `owner` that the agent of `reader` opens the
        connection of `nonce`."""
        signature = self._key.sign(_signed(reader, owner, nonce)).signature
        return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


def verifies(public: str, signature: str, *, reader: str, owner: str, nonce: str) -> bool:
    """Return whether the key's holder made `signature` for this connection and these two ends."""
    try:
        raw = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        nacl.signing.VerifyKey(_raw(public)).verify(_signed(reader, owner, nonce), raw)
    except (ValueError, binascii.Error, nacl.exceptions.CryptoError):
        return False
    return True


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
                good = verifies(
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
