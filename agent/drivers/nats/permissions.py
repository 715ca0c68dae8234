"""What each kind of user may do at a broker that asks its agent."""

from __future__ import annotations

from agent.drivers.nats import names
from agent.drivers.nats.tokens import Permissions

PUBLISHER = Permissions(publish=(f"{names.IN}.>", "$JS.API.INFO"), subscribe=("_INBOX.>",))
"""Into every ingress, and the broker's acknowledgement back."""

UNMANAGED = Permissions(
    publish_denied=("weir.>", "$JS.>", "$SYS.>"),
    subscribe_denied=(
        f"{names.IN}.>",
        f"{names.OUT}.>",
        f"{names.INTEREST}.>",
        names.INQUIRIES,
        "$JS.>",
        "$SYS.>",
    ),
)
"""Subjects of its own, and reading what is delivered: as it was before Weir came."""


def consumer(flow: str) -> Permissions:
    """Listen to one flow, or read its stream with consumers of one's own."""
    stream = names.delivery_stream(flow)
    delivered = names.delivery_subject(flow)
    return Permissions(
        publish=(
            "$JS.API.INFO",
            "$JS.API.STREAM.NAMES",
            f"$JS.API.STREAM.INFO.{stream}",
            f"$JS.API.CONSUMER.CREATE.{stream}",
            f"$JS.API.CONSUMER.CREATE.{stream}.>",
            f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.*",
            f"$JS.API.CONSUMER.INFO.{stream}.*",
            f"$JS.API.CONSUMER.DELETE.{stream}.*",
            f"$JS.API.CONSUMER.MSG.NEXT.{stream}.*",
            f"$JS.ACK.{stream}.>",
            f"$JS.FC.{stream}.>",
        ),
        subscribe=(delivered, f"{delivered}.>", "_INBOX.>"),
    )
