"""Bound the names that brokers carry.

A broker writes names into subjects and names of streams, quoted, because a name may hold any
character and a token may not. NATS takes 255 bytes in the name of a stream
(`JSMaxNameLen` of nats-server), of which Weir needs a few for what the stream holds.
"""

from __future__ import annotations

from urllib.parse import quote

STREAM_NAME_BYTES = 255
"""The longest name of a stream that NATS takes."""

INGRESS_STREAM = "WEIR_IN_"
DELIVERY_STREAM = "WEIR_MSG_"
OUTBOX_STREAM = "WEIR_TO_"

RELIABLE_FLOW_BYTES = STREAM_NAME_BYTES - len(DELIVERY_STREAM)
"""The longest token of a reliable flow, whose ingress and deliveries are streams."""
BROKER_BYTES = STREAM_NAME_BYTES - len(OUTBOX_STREAM)
"""The longest token of a broker, for which its neighbours keep a stream."""


def reliable_flow_too_long(name: str) -> str:
    """Return why no stream can be named after a reliable flow, without the subject of the
    sentence; empty where one can."""
    return _too_long(name, RELIABLE_FLOW_BYTES)


def broker_too_long(name: str) -> str:
    """Return why no stream can be named after a broker, as above."""
    return _too_long(name, BROKER_BYTES)


def _too_long(name: str, most: int) -> str:
    size = len(token(name))
    if size <= most:
        return ""
    return (
        f"takes {size} bytes in the names of streams, of which brokers take {most} at most "
        "(characters other than ASCII letters, digits, _ and - take three bytes or more)"
    )


def token(name: str) -> str:
    """Return a name as one token of a subject, or part of a stream's name: ASCII letters, digits, _
    and - as they are, every other byte of it in UTF-8 as three characters."""
    return quote(name, safe="").replace(".", "%2E").replace("~", "%7E")
