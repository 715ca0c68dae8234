"""Define what each kind of user may do at a broker that asks its agent.

Inboxes: who may listen to `_INBOX.>` hears every answer that is sent there, messages that others
fetch of their streams included. So whoever fetches messages has a prefix of its own, which nobody
else may listen to; below `_INBOX` are only the broker's acknowledgements to publishers.
"""

from __future__ import annotations

from agent.drivers.nats import names
from agent.drivers.nats.tokens import Permissions
from weir.coordination.names import token

PUBLISHER = Permissions(publish=(f"{names.IN}.*", "$JS.API.INFO"), subscribe=("_INBOX.>",))
"""A publisher may publish to every ingress and receive the broker's acknowledgement."""

UNMANAGED = Permissions(
    publish_denied=("weir.>", "$JS.>", "$SYS.>"),
    subscribe_denied=("weir.>", "$JS.>", "$SYS.>"),
)
"""An unmanaged client may use all but Weir's subjects, in an account of its own where it can hear
nothing of Weir's. The denials make the server send an error instead of staying silent."""


def consumer(name: str, flow: str) -> Permissions:
    """Return the rights of a consumer of class `name`: to listen to one flow, or to read its stream
    with consumers of its own, whose messages come to the class' own inboxes."""
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
    """Return the rights of a neighbour's agent: to read and settle its own outbox, declare its
    interest, ask our agent, and nothing else."""
    stream = names.outbox_stream(neighbour)
    return Permissions(
        publish=(
            names.inquiry_subject(token(neighbour)),
            names.interest_subject(neighbour),
            # Its last declaration, so that it does not write after a newer incarnation.
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
        subscribe=(f"{names.OUT}.{token(neighbour)}.*", f"{names.link_inbox(neighbour)}.>"),
    )
