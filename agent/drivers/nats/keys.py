"""Sign and verify the keys by which agents identify each other at a link: ed25519, as NATS' nkeys.

An agent that connects to a neighbour's broker signs the random number (nonce) that the broker sent
for this connection. The neighbour's agent verifies it with the public key in the control plane's
document. The signature is useless anywhere else: it names both ends of the link, so that a broker
cannot pass it on to a third one, and the next connection has another nonce.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets as random

import nacl.exceptions
import nacl.signing
import nkeys


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
