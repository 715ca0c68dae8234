"""Decide who may connect, as which user and with which rights: the answer to one request of the
server.

A client can connect in three ways: as a class or as `publisher` with the client key, as a
neighbour's agent with a signature of its key, and, where the system admits unmanaged clients, as
anybody else in a separate account. The names of Weir's own users are reserved, and a class name
without the client key is a wrong password, not an unmanaged client.
"""

from __future__ import annotations

import hmac
import logging
import random
from urllib.parse import unquote

from agent.admission import AdmissionBook, Admitted
from agent.drivers.nats import permissions
from agent.drivers.nats.link_access import LinkAccess
from agent.drivers.nats.places import record
from agent.drivers.nats.server_config import (
    ACCOUNT,
    ADMISSION_USER,
    AGENT_USER,
    GUEST_ACCOUNT,
    PUBLISHER_USER,
    SYSTEM_USER,
    BrokerSecrets,
)
from agent.drivers.nats.tokens import ConnectRequest, Issuer, Permissions
from weir.coordination.names import token
from weir.coordination.wire import Unmanaged

log = logging.getLogger("weir.agent.admission")

GUEST = "unmanaged/"
"""The prefix of the names in unmanaged clients' tokens."""
RESERVED = frozenset({AGENT_USER, ADMISSION_USER, SYSTEM_USER, "link"})
"""Names that Weir's own processes use or used; the server asks only when their password is
wrong."""


class LoginDecider:
    """Answer the requests of one broker, by the book of its classes and the keys of its
    neighbours."""

    def __init__(
        self, *, book: AdmissionBook, links: LinkAccess, secrets: BrokerSecrets, lease_s: float
    ) -> None:
        """Take `lease_s`, where 0 means tokens without end."""
        self.policy: Unmanaged | None = None
        """What unmanaged clients may do; None while the limits are not known either."""
        self._book = book
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
        if name not in self._book.classes and request.user != PUBLISHER_USER:
            return self._unmanaged(request, now)
        if not hmac.compare_digest(_bytes(request.password), self._client_key):
            return self.refuse(request, "wrong client key", now)
        if request.user == PUBLISHER_USER:
            return self._admit(request, PUBLISHER_USER, permissions.PUBLISHER, now)
        return self._consumer(request, name, now)

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
        rights = permissions.consumer(place.name, place.flow)
        return self._admit(request, record(place), rights, now, expires=place.expires)

    def _neighbour(self, request: ConnectRequest, now: float) -> bytes:
        neighbour = self._links.neighbour(request)
        if neighbour is None:
            reason = (
                f"no neighbour has the key {request.nkey[:60]}, or it did not sign for this link"
            )
            log.info("admission: refused %r: %s", request.name or request.host, reason)
            return self.refuse(request, reason, now)
        return self._admit(request, self._links.record(neighbour), permissions.link(neighbour), now)

    def _unmanaged(self, request: ConnectRequest, now: float) -> bytes:
        shown = request.name or request.user or request.host
        if self.policy not in (Unmanaged.REPORT, Unmanaged.ALLOW):
            log.info("admission: refused %r, which names no class", shown)
            reason = f"{request.user or 'a client without user'} names no class"
            return self.refuse(request, reason, now)
        name = GUEST + token(shown)
        return self._admit(request, name, permissions.UNMANAGED, now, account=GUEST_ACCOUNT)


def _bytes(text: str) -> bytes:
    # A password may hold halves of surrogate pairs: JSON knows them, UTF-8 does not.
    return text.encode(errors="surrogatepass")
