"""Unpack what collectors of metrics send, within bounds that hold before memory is taken."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from weir.errors import InvalidProblem

SNAPPY, GZIP, PLAIN = "snappy", "gzip", ""
MOST_PARTS = 1_000_000
"""Messages inside a body: two bytes of it are enough for one, which takes fifty of memory."""
DEEPEST = 64
"""How many messages may stand inside one another."""
LONGEST_VARINT = 10

VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""How a field is laid out: its wire type."""
FIXED_BYTES = {EIGHT_BYTES: 8, FOUR_BYTES: 4}

PACKED_IN_A_PART = 16
"""Whole numbers side by side that count as one part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """How a field of a message is laid out."""

    wire_types: frozenset[int]
    message: Descriptor | None
    """What it holds; None: no message."""
    counts: bool
    """Whether there may be many of it, each of which takes memory."""


class TooLong(InvalidProblem):
    """Signal that a body is longer than it may be, as it was sent or once it is unpacked."""


def unpacked(body: bytes, packing: str, most_bytes: int) -> bytes:
    """Return a body without its compression. Raises TooLong, and InvalidProblem where it is cut
    off or not what the packing says."""
    if packing == SNAPPY:
        return _of_snappy(body, most_bytes)
    if packing == GZIP:
        return _of_gzip(body, most_bytes)
    return body


def _of_snappy(body: bytes, most_bytes: int) -> bytes:
    """Return the bytes of a block; its first bytes say how many these are."""
    size, _ = _varint(body, 0, len(body))
    _check_size(size, most_bytes)
    try:
        plain: bytes = pa.decompress(body, decompressed_size=size, codec=SNAPPY, asbytes=True)
    except (OSError, pa.ArrowException):
        message = "is no block of Snappy; send `Content-Encoding: snappy` without frames"
        raise InvalidProblem("body", message) from None
    return plain


def _of_gzip(body: bytes, most_bytes: int) -> bytes:
    reader = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = reader.decompress(body, most_bytes + 1)
    except zlib.error:
        raise InvalidProblem("body", "is not compressed by gzip; send it whole") from None
    _check_size(len(plain), most_bytes)
    if not reader.eof or reader.unused_data:
        raise InvalidProblem("body", "is not one file of gzip from end to end; send it whole")
    return plain


def _check_size(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise TooLong(
            "body", f"is more than {most_bytes // 2**20} MiB once it is unpacked; send less at once"
        )


def read_message(kind: Any, body: bytes) -> Any:
    """Return the message of this class that a body holds. Raises InvalidProblem where it is none,
    has a known field in another layout, or more parts than a body may have."""
    _walk(body, 0, len(body), kind.DESCRIPTOR, MOST_PARTS, DEEPEST)
    try:
        return kind.FromString(body)
    except DecodeError:
        raise _unlike(kind.DESCRIPTOR.name) from None


def _unlike(name: str) -> InvalidProblem:
    return InvalidProblem("body", f"is no {name} in the encoding of Protocol Buffers")


def _walk(body: bytes, at: int, end: int, kind: Descriptor, left: int, depth: int) -> int:
    """Check the layout of a message; return how many more parts there may be."""
    if not depth:
        raise InvalidProblem("body", f"holds more than {DEEPEST} messages inside one another")
    fields = _fields(kind)
    while at < end:
        # Most numbers are of one byte, and a call for each takes longer than the rest.
        key, at = (body[at], at + 1) if body[at] < 128 else _varint(body, at, end)
        wire, size = key & 7, 0
        field = fields.get(key >> 3)
        if field is not None and wire not in field.wire_types:
            raise _unlike(kind.name)
        if wire == VARINT:
            _, at = _varint(body, at, end)
        elif wire == WITH_LENGTH:
            size, at = _varint(body, at, end)
        elif wire in FIXED_BYTES:
            at += FIXED_BYTES[wire]
        else:
            raise _unlike(kind.name)
        if at + size > end:
            raise _unlike(kind.name)
        if field is not None and field.counts:
            left -= 1 if VARINT not in field.wire_types else 1 + size // PACKED_IN_A_PART
            if left < 0:
                message = f"holds more than {MOST_PARTS:,} parts; send fewer at once"
                raise InvalidProblem("body", message)
            if field.message is not None:
                left = _walk(body, at, at + size, field.message, left, depth - 1)
        at += size
    return left


def _varint(body: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a whole number and the place after it. Raises InvalidProblem."""
    if at < end and body[at] < 128:
        return body[at], at + 1
    value = 0
    for place, byte in enumerate(body[at : min(end, at + LONGEST_VARINT)]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise InvalidProblem("body", "ends in the middle of a number, or is another format")


@cache
def _fields(kind: Descriptor) -> Mapping[int, _Field]:
    """Return the fields of a message by their numbers."""
    return {
        field.number: _Field(
            wire_types=_wire_types(field),
            message=field.message_type,
            counts=field.is_repeated or field.message_type is not None,
        )
        for field in kind.fields
    }


def _wire_types(field: FieldDescriptor) -> frozenset[int]:
    kinds = FieldDescriptor
    if field.type in (kinds.TYPE_STRING, kinds.TYPE_BYTES, kinds.TYPE_MESSAGE):
        return frozenset([WITH_LENGTH])
    if field.type in (kinds.TYPE_DOUBLE, kinds.TYPE_FIXED64, kinds.TYPE_SFIXED64):
        one = EIGHT_BYTES
    elif field.type in (kinds.TYPE_FLOAT, kinds.TYPE_FIXED32, kinds.TYPE_SFIXED32):
        one = FOUR_BYTES
    else:
        one = VARINT
    # Numbers of a list stand one by one, or side by side in one field.
    return frozenset([one, WITH_LENGTH] if field.is_repeated else [one])
