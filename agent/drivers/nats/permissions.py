"""What each kind of user may do at a broker that asks its agent.

Inboxes: who may listen to `_INBOX.>` hears every answer that is sent there, messages that others
fetch of their streams included. So whoever fetches messages has a prefix of its own, which nobody
else may listen to; below `_INBOX` are only the broker's acknowledgements to publishers.
"""

from __future__ import annotations

from agent.drivers.nats import names
from agent.drivers.nats.tokens import Permissions

PUBLISHER = Permissions(publish=(f"{names.IN}.*", "$JS.API.INFO"), subscribe=("_INBOX.>",))
"""Into every ingress, and the broker's acknowledgement back."""

UNMANAGED = Permissions(
    publish_denied=("weir.>", "$JS.>", "$SYS.>"),
    subscribe_denied=("weir.>", "$JS.>", "$SYS.>"),
)
"""Subjects of its own, in an account of its own: nothing of Weir's can be heard there anyway. What
is denied is denied so that a client that tries is told instead of waiting in silence."""


def consumer(name: str, flow: str) -> Permissions:
    """A consumer of class `name`: listen to one flow, or read its stream with consumers of one's
    own, whose messages come to the class' own inboxes."""
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
        subscribe=(delivered, f"{delivered}.>", f"{names.class_inbox(name)}.>"),
    )


def link(neighbour: str) -> Permissions:
    """A neighbour's agent: read and settle its own outbox, say what it wants, ask our
    agent, and nothing else."""
    stream = names.outbox_stream(neighbour)
    return Permissions(
        publish=(
            names.inquiry_subject(names.token(neighbour)),
            names.interest_subject(neighbour),
            # What it said last, so that it does not speak after a newer one of itself.
            f"$JS.API.DIRECT.GET.{names.INTEREST_STREAM}.{names.interest_subject(neighbour)}",
            f"$JS.API.STREAM.INFO.{stream}",
            f"$JS.API.STREAM.PURGE.{stream}",
            f"$JS.API.DIRECT.GET.{stream}",
            f"$JS.API.DIRECT.GET.{stream}.>",
            f"$JS.API.CONSUMER.*.{stream}",
            f"$JS.API.CONSUMER.*.{stream}.>",
            f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.*",
            f"$JS.API.CONSUMER.MSG.NEXT.{stream}.*",
            f"$JS.ACK.{stream}.>",
            f"$JS.FC.{stream}.>",
        ),
        subscribe=(f"{names.OUT}.{names.token(neighbour)}.*", f"{names.link_inbox(neighbour)}.>"),
    )
