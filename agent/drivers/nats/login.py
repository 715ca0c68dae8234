"""Decide who may connect, as which user and with which rights: the answer to one request of the
server.

A client can connect in four ways: as a class, as `publisher` or as `subscriber` of streams with the
client key, as a neighbour's agent with a signature of its key, and, where the system admits
unmanaged clients, as anybody else in a separate account. The names of Weir's own users are
reserved, and a class name without the client key is a wrong password, not an unmanaged client. A
class named `subscriber` takes the place of that login.

Inboxes: who may listen to `_INBOX.>` hears every answer that is sent there, messages that others
fetch of their streams included. So whoever fetches messages has a prefix of its own, which nobody
else may listen to; below `_INBOX` are only the broker's acknowledgements to publishers.
"""

from __future__ import annotations

import hmac
import logging
import random
from collections.abc import Iterable
from urllib.parse import unquote

from agent.admission import AdmissionBook, Admitted, Place
from agent.drivers.nats import names
from agent.drivers.nats.link_access import LinkAccess
from agent.drivers.nats.server_config import (
    ACCOUNT,
    ADMISSION_USER,
    AGENT_USER,
    CLIENT_ACCOUNT,
    GUEST_ACCOUNT,
    PUBLISHER_USER,
    SUBSCRIBER_USER,
    SYSTEM_USER,
    BrokerSecrets,
)
from agent.drivers.nats.tokens import ConnectRequest, Issuer, Permissions
from agent.publishers import PublisherBook
from weir.coordination.wire import Unmanaged, token
from weir_client import subjects

log = logging.getLogger("weir.agent.admission")

_PUBLISHER_INBOX = "_INBOX"
GUEST = "unmanaged/"
"""The prefix of the names in unmanaged clients' tokens."""
RESERVED = frozenset({AGENT_USER, ADMISSION_USER, SYSTEM_USER, "link"})
"""Names that Weir's own processes use or used; the server asks only when their password is
wrong."""
UNMANAGED = Permissions(
    publish_denied=("weir.>", "$JS.>", "$SYS.>"),
    subscribe_denied=("weir.>", "$JS.>", "$SYS.>"),
)
"""An unmanaged client may use all but Weir's subjects, in an account of its own where it can hear
nothing of Weir's. The denials make the server send an error instead of staying silent."""


def publisher_permissions(denied: Iterable[str]) -> Permissions:
    """Return the rights of a publisher that may not publish the flows `denied`: to publish to every
    other ingress and receive the broker's acknowledgement, and to ask and hear where it belongs."""
    return Permissions(
        publish=(f"{names.IN}.*", f"{names.WHERE}.*", "$JS.API.INFO"),
        publish_denied=tuple(names.ingress_subject(flow) for flow in sorted(denied)),
        subscribe=(f"{_PUBLISHER_INBOX}.>", f"{names.MOVED}.*"),
    )


def publisher_user(record: str) -> str:
    """Return what the server remembers of a publisher's login, as the name of its token. Agents
    older than lists of publishers write no record: such a login may publish every flow."""
    return f"{PUBLISHER_USER}/{record}" if record else PUBLISHER_USER


def publisher_record(user: str) -> str | None:
    """Return the record in a token's name; None for users that are not publishers."""
    kind, _, record = user.partition("/")
    return record if kind == PUBLISHER_USER else None


def subscriber_permissions(name: str) -> Permissions:
    """Return the rights of a subscriber: to listen to all streams, reply to the flows' senders, and
    say what it wants; with the `name` of its connection, to have the agent read the streams that
    are kept for it, too.

    Nothing of it may be answered by JetStream, not even an acknowledgement: its server sends the
    answer wherever the request says, also to the JetStream API. So the agent keeps and acknowledges
    for readers; the server does not answer to flow control.
    """
    publish = [f"{subjects.HEARD}.*", subjects.WANT, subjects.PLACE, subjects.CARRY]
    subscribe = [
        f"{subjects.ON}.>",
        subjects.PLACED,
        subjects.CARRIED,
        subjects.WHO,
        f"{subjects.INBOX}.>",
    ]
    if name:
        publish += [subjects.COURSE, subjects.read_subject(name)]
        publish += [f"$JS.FC.*.{subjects.consumer_of(name, lane)}.>" for lane in subjects.LANES]
        subscribe.append(f"{subjects.reader_inbox(name)}.>")
    return Permissions(publish=tuple(publish), subscribe=tuple(subscribe))


def consumer_permissions(name: str, flow: str) -> Permissions:
    """Return the rights of a consumer of class `name`: to listen to one flow, or to read its stream
    with consumers of its own, whose messages come to the class' own inboxes, and to report the
    delays of its class."""
    stream = names.delivery_stream(flow)
    delivered = names.delivery_subject(flow)
    return Permissions(
        publish=(
            names.delays_subject(name),
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


def subscriber_user(name: str) -> str:
    """Return what the server remembers of a subscriber's login, as the name of its token."""
    return f"{SUBSCRIBER_USER}/{token(name)}"


def subscriber_name(user: str) -> str | None:
    """Return the name of the subscriber's connection; None for users that are none."""
    kind, slash, name = user.partition("/")
    return names.name_of(name) if slash and kind == SUBSCRIBER_USER else None


def link_permissions(neighbour: str) -> Permissions:
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


def record(place: Place) -> str:
    """Return what the server remembers of a place, as the name of the token."""
    expires = f"{place.expires:.3f}" if place.expires is not None else "-"
    name, flow = token(place.name), token(place.flow)
    return f"consumer/{name}/{flow}/{place.since:.3f}/{expires}"


def class_of(written: str) -> str:
    """Return the class of the consumer that `record` describes. Raises ValueError for other
    users."""
    kind, name, *_ = [*written.split("/"), ""]
    if kind != "consumer" or not name:
        raise ValueError(f"{written.partition('/')[0]!r} is no consumer of a class")
    return names.name_of(name)


def place_of(connection: int, written: str, consumer: str) -> Place | None:
    """Return the place that `record` describes; None for users that are not consumers."""
    parts = written.split("/")
    if len(parts) != 5 or parts[0] != "consumer":
        return None
    return Place(
        connection=connection,
        name=names.name_of(parts[1]),
        flow=names.name_of(parts[2]),
        consumer=consumer or f"#{connection}",
        since=float(parts[3]),
        expires=None if parts[4] == "-" else float(parts[4]),
    )


class LoginDecider:
    """Answer the requests of one broker, by the book of its classes and the keys of its
    neighbours."""

    def __init__(
        self,
        *,
        book: AdmissionBook,
        publishers: PublisherBook,
        links: LinkAccess,
        secrets: BrokerSecrets,
        lease_s: float,
    ) -> None:
        """Take `lease_s`, where 0 means tokens without end."""
        self.policy: Unmanaged | None = None
        """What unmanaged clients may do; None while the limits are not known either."""
        self.client_account = CLIENT_ACCOUNT
        """The account of the system's clients."""
        self._book = book
        self._publishers = publishers
        self._links = links
        self._client_key = _bytes(secrets.client_key)
        self._issuer = Issuer(secrets.issuer_seed)
        self._lease_s = lease_s

    def refuse(self, request: ConnectRequest, reason: str, now: float) -> bytes:
        """Return a signed refusal; the server logs `reason`."""
        return self._issuer.refuse(request, reason=reason, now=now)

    def decide(self, request: ConnectRequest, now: float) -> bytes:
        """Return a signed answer: rights, or a refusal with a reason. An admitted consumer takes
        its place."""
        if request.nkey:
            return self._neighbour(request, now)
        if self.policy is None:
            return self.refuse(request, "the limits are not known yet", now)
        name = unquote(request.user)
        if request.user in RESERVED:
            reason = f"{request.user} is a name of Weir's own, and this is not its password"
            return self.refuse(request, reason, now)
        is_class = name in self._book.classes
        if not is_class and request.user not in (PUBLISHER_USER, SUBSCRIBER_USER):
            return self._unmanaged(request, now)
        if not hmac.compare_digest(_bytes(request.password), self._client_key):
            return self.refuse(request, "wrong client key", now)
        if request.user == PUBLISHER_USER:
            denied, record = self._publishers.log_in(
                name=request.name, connection=request.connection
            )
            rights = publisher_permissions(denied)
            return self._client(request, publisher_user(record), rights, now)
        if not is_class:
            rights = subscriber_permissions(request.name)
            return self._client(request, subscriber_user(request.name), rights, now)
        return self._consumer(request, name, now)

    def _client(
        self,
        request: ConnectRequest,
        name: str,
        rights: Permissions,
        now: float,
        *,
        expires: float | None = None,
    ) -> bytes:
        account = self.client_account
        return self._admit(request, name, rights, now, account=account, expires=expires)

    def _admit(
        self,
        request: ConnectRequest,
        name: str,
        rights: Permissions,
        now: float,
        *,
        account: str = ACCOUNT,
        expires: float | None = None,
    ) -> bytes:
        return self._issuer.admit(
            request, account=account, name=name, permissions=rights, now=now, expires=expires
        )

    def _consumer(self, request: ConnectRequest, name: str, now: float) -> bytes:
        answer = self._book.ask(
            name=name,
            consumer=request.name or f"{request.host}#{request.connection}",
            connection=request.connection,
            now=now,
            # Spread the leases, so that a class admitted at once is not renewed at once.
            expires=now + self._lease_s * random.uniform(0.8, 1.0) if self._lease_s else None,
        )
        if not isinstance(answer, Admitted):
            reason = f"class {name} is full ({answer.limit}), {answer.ahead} ahead"
            return self.refuse(request, reason, now)
        place = answer.place
        rights = consumer_permissions(place.name, place.flow)
        return self._client(request, record(place), rights, now, expires=place.expires)

    def _neighbour(self, request: ConnectRequest, now: float) -> bytes:
        neighbour = self._links.neighbour(request)
        if neighbour is None:
            reason = (
                f"no neighbour has the key {request.nkey[:60]}, or it did not sign for this link"
            )
            log.info("admission: refused %r: %s", request.name or request.host, reason)
            return self.refuse(request, reason, now)
        return self._admit(request, self._links.record(neighbour), link_permissions(neighbour), now)

    def _unmanaged(self, request: ConnectRequest, now: float) -> bytes:
        shown = request.name or request.user or request.host
        if self.policy not in (Unmanaged.REPORT, Unmanaged.ALLOW):
            log.info("admission: refused %r, which names no class", shown)
            reason = f"{request.user or 'a client without user'} names no class"
            return self.refuse(request, reason, now)
        name = GUEST + token(shown)
        return self._admit(request, name, UNMANAGED, now, account=GUEST_ACCOUNT)


def _bytes(text: str) -> bytes:
    # A password may hold halves of surrogate pairs: JSON knows them, UTF-8 does not.
    return text.encode(errors="surrogatepass")
