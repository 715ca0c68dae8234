"""Admission at a NATS server: answers its auth callout, cuts off whom a lower limit releases.

| the server says | on | we |
|---|---|---|
| somebody connects | `$SYS.REQ.USER.AUTH` | ask the book, answer with a signed token or a refusal |
| somebody came, somebody left | `$SYS.ACCOUNT.WEIR.CONNECT`, `DISCONNECT` | correct the book |
| who is connected | `CONNZ`, once a second and after every doubt | correct the book |
| (we tell) close that connection | `KICK` | wait until it is closed |

The token's name carries class, flow and lease, so that the connections themselves are the durable
record of who is admitted: a restarted agent reads them before it lets anybody in. While no agent
answers, the server turns newcomers away and leaves everybody else alone.

Whoever is not let in has no connection, so it hears nothing; who is, says `doorkeeper`.

Leases: a token ends after `lease_s`. Clients differ in what they do when the server then closes
the connection (nats-py gives up for good), so the agent renews earlier by closing it itself, which
every client takes as a reason to reconnect, and keeps the place meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import nats.errors

from agent.admission import AdmissionBook
from agent.drivers.base import ClassAdmission, Fenced, Retryable, Unsupported
from agent.drivers.nats import names
from agent.drivers.nats.doorkeeper import GUEST, Doorkeeper
from agent.drivers.nats.link_access import LinkAccess
from agent.drivers.nats.places import Delivered, place_of
from agent.drivers.nats.server_config import ADMISSION_USER, AUTH_TIMEOUT_S, BrokerSecrets
from agent.drivers.nats.system_account import ServerLoad, SystemAccount, connect, flush, leave
from agent.drivers.nats.tokens import ConnectRequest, read_request
from agent.tasks import end
from weir.coordination.wire import ClassSpec, Unmanaged

log = logging.getLogger("weir.agent.admission")

EVICT_S = 5.0
"""How long until everybody who was cut off must have left."""
POLL_S = 1.0


class Admission:
    """Who may connect to one NATS server. `open`, then `admit` as often as limits change."""

    def __init__(
        self,
        *,
        url: str,
        secrets: BrokerSecrets,
        broker: str = "",
        lease_s: float = 3600.0,
        wait_s: float = 6.0,
        hold_s: float = 5.0,
        tls: ssl.SSLContext | None = None,
        life: str = "here",
        ours: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`broker`: our name in documents, which neighbours sign. `lease_s` 0: tokens without end.
        `wait_s`, `hold_s`: see `AdmissionBook`. `life`: what the names of our connections end in.
        `ours` raises Fenced when another process answers for this broker; it is asked whenever we
        have been away."""
        self.book = AdmissionBook(wait_s=wait_s, hold_s=hold_s)
        self.load = ServerLoad()
        self.system = SystemAccount(url=url, password=secrets.system_password, life=life, tls=tls)
        self.links = LinkAccess(broker)
        self._tls = tls
        self._url = url
        self._life = life
        self._ours = ours
        self._secrets = secrets
        self._lease_s = lease_s
        self._doorkeeper = Doorkeeper(
            book=self.book, links=self.links, secrets=secrets, lease_s=lease_s
        )
        self._server = ""
        self._ready = False
        self._stopped = False
        self._answers: Any = None
        """The subscription to the server's questions, from the first rule on."""
        self._answering = asyncio.Lock()
        self._admission: Any = None
        self._changed = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self._resync: asyncio.Task[None] | None = None
        self._strangers: dict[int, str] = {}
        self._delivered: dict[str, Delivered] = {}
        self._away = ""

    # --- life

    async def open(self) -> None:
        """Learn who is connected. Nobody is let in before the first `admit`.

        Raises Retryable when the server is away, Unsupported when it is not configured for it.
        """
        await self.system.open(
            came=self._came, left=self._left, lost=self._system_lost, back=self._again
        )
        self._admission = await connect(
            self._url,
            user=ADMISSION_USER,
            password=self._secrets.agent_password,
            life=self._life,
            tls=self._tls,
        )
        await self.system.refuse_company()
        await self._learn()
        self.load = await self.system.load()
        self._poller = asyncio.create_task(self._poll(), name="admission")

    async def close(self) -> None:
        """Answer nobody any more; who is in stays in."""
        self._ready, self._answers, self._doorkeeper.policy = False, None, None
        await end(*(task for task in (self._poller, self._resync) if task is not None))
        await leave(self._admission)
        await self.system.close()

    def _system_lost(self) -> None:
        self._ready = False

    def _again(self) -> None:
        """The system connection is back: the server may have been restarted, events are lost."""

        async def learn() -> None:
            while True:
                try:
                    await self._learn()
                    if self._server == self.system.server:
                        return
                except Retryable as error:
                    log.warning("admission: cannot read the connections yet: %s", error)
                    await asyncio.sleep(0.5)
                except (Fenced, Unsupported) as error:
                    log.error("admission: answers nobody any more: %s", error)
                    return

        if self._resync is None or self._resync.done():
            self._resync = asyncio.create_task(learn(), name="admission resync")

    async def _learn(self) -> None:
        """Rebuild the book from the server's connections, then let people in again.

        A predecessor may have said yes to a connection that is not through yet: wait until all
        that were pending have come or gone; the server itself waits no longer than its timeout.
        """
        server = self.system.server
        if server != self._server:
            self.book.clear()
            self.links.clear()
            self._strangers.clear()
            self._server = server
            for counted in self._delivered.values():
                counted.settle()
        pending = await self.refresh()
        deadline = time.monotonic() + AUTH_TIMEOUT_S + 1.0
        while pending and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            pending &= await self.refresh()
        if self._ours is not None:
            await self._ours()
        self._ready = True
        log.info(
            "admission: %d admitted, %d unmanaged connections found",
            len(self.book),
            len(self._strangers),
        )

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                await self.refresh()
                self.load = await self.system.load()
                if self._away:
                    log.info("admission: the broker answers again")
                self._away = ""
                if self._doorkeeper.policy is not None and self._ready:
                    now = time.time()
                    margin = max(self._lease_s / 10, 2.5 * POLL_S)
                    for place in self.book.renew(now, margin_s=margin) + self.book.excess():
                        await self.system.kick(place.connection)
                    await self._turn_out()
            except Retryable as error:
                if not self._away:
                    log.warning("admission: %s", error)
                self._away = str(error)
            except Exception:
                # Whoever polls must not stop: leases and evictions depend on it.
                log.exception("admission: a bug")

    # --- what drivers use

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str = "refuse") -> None:
        """These limits hold from now on; returns when nobody is above them.

        Raises Retryable when evicted consumers have not left in time; the limits hold all the
        same, and the eviction goes on.
        """
        self._doorkeeper.policy = Unmanaged.of(unmanaged)
        before = self.book.classes
        excess = self.book.rule(classes)
        if classes != before:
            log.info("admission: limits %s", {name: s.limit for name, s in classes.items()})
        await self._listen()
        deadline = time.monotonic() + EVICT_S
        while excess:
            if time.monotonic() > deadline:
                one = len(excess) == 1
                have = "consumer above its limit has" if one else "consumers above their limit have"
                raise Retryable(f"{len(excess)} {have} not left yet")
            self._changed.clear()
            for place in excess:
                await self.system.kick(place.connection)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await self._changed.wait()
            await self.refresh()
            excess = self.book.excess()
        await self._turn_out()

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        """These neighbours may open links, each with its key; other links are cut off, now or
        within the next polls. Raises Retryable when the server is away."""
        self.links.rule(public_keys)
        await self._listen()
        for number in self.links.stale():
            await self.system.kick(number)

    def misses(self, neighbour: str) -> bool:
        """Whether the broker has no connection of this neighbour's agent, as far as we know."""
        return self._ready and not self.links.here(neighbour)

    async def revoke(self, name: str, consumer: str) -> None:
        """Cut off one consumer of a class; he may ask again."""
        for place in self.book.places(name):
            if place.consumer == consumer:
                await self.system.kick(place.connection)

    def stop(self) -> None:
        """Answer nobody any more, at once and for good; who is in stays in."""
        self._ready, self._stopped = False, True

    def classes(self) -> dict[str, ClassAdmission]:
        """Limits, admitted and waiting of every class that has a rule."""
        now = time.time()
        return {
            name: ClassAdmission(
                limit=spec.limit,
                admitted=self.book.admitted(name),
                waiting=self.book.waiting(name, now),
            )
            for name, spec in self.book.classes.items()
        }

    def delivered(self) -> dict[str, int]:
        """Class -> messages handed to its consumers since this object was opened."""
        return {name: counted.total for name, counted in self._delivered.items()}

    def unmanaged(self) -> tuple[str, ...]:
        """Names of the clients that were let in without belonging to a class; empty where the
        system does not want them reported."""
        if self._doorkeeper.policy is Unmanaged.ALLOW:
            return ()
        return tuple(sorted(self._strangers.values()))

    # --- the server's questions and news

    async def _listen(self) -> None:
        """The server asks us from now on. Raises Retryable."""
        async with self._answering:
            if self._answers is None:
                self._answers = await self._admission.subscribe(
                    "$SYS.REQ.USER.AUTH", cb=self._asked
                )
            await flush(self._admission)

    async def _asked(self, message: Any) -> None:
        if self._stopped:
            return  # the other agent answers
        now = time.time()
        try:
            request = read_request(message.data)
        except ValueError as error:
            log.warning("admission: %s", error)
            return
        try:
            await message.respond(self._decide(request, now))
        except nats.errors.Error as error:
            log.warning("admission: could not answer: %s", error)

    def _decide(self, request: ConnectRequest, now: float) -> bytes:
        if not self._ready or request.server_id != self._server:
            return self._doorkeeper.refuse(request, "the agent is not ready", now)
        return self._doorkeeper.decide(request, now)

    def _came(self, event: Mapping[str, Any]) -> None:
        client = event.get("client", {})
        self._meet(client.get("id"), client.get("user", ""), client.get("name", ""), client)

    def _left(self, event: Mapping[str, Any]) -> None:
        number = event.get("client", {}).get("id")
        self._strangers.pop(number, None)
        self.links.gone(number)
        place = self.book.gone(number, time.time())
        if place is not None:
            counted = self._delivered.setdefault(place.name, Delivered())
            counted.running.pop(number, None)
            counted.ended += int(event.get("sent", {}).get("msgs", 0))
        self._changed.set()

    def _meet(self, number: Any, user: str, name: str, client: Mapping[str, Any]) -> None:
        """A connection that is through: adopt it if this book does not know it."""
        if "issuer_key" not in client or not isinstance(number, int):
            return
        if user.startswith(GUEST):
            self._strangers[number] = names.name_of(user.partition("/")[2])
        elif not self.links.meet(number, user) and self.book.place(number) is None:
            place = place_of(number, user, name)
            if place is not None:
                self.book.adopt([place])

    # --- questions to the server

    async def refresh(self) -> set[int]:
        """Correct the book by the server's connections; the numbers of those still pending."""
        if self._server != self.system.server:
            raise Retryable("the broker was restarted; its connections are being read anew")
        as_of = self.book.mark()
        connections = await self.system.connections()
        pending: set[int] = set()
        for connection in connections:
            number = connection["cid"]
            if "account" not in connection:
                pending.add(number)
                continue
            user = connection.get("authorized_user", "")
            self._meet(number, user, connection.get("name", ""), connection)
            place = self.book.place(number)
            if place is not None:
                counted = self._delivered.setdefault(place.name, Delivered())
                counted.running[number] = int(connection.get("out_msgs", 0))
        here = {connection["cid"] for connection in connections}
        self.book.present(here, as_of=as_of, now=time.time())
        self.links.present(here)
        self._strangers = {n: name for n, name in self._strangers.items() if n in here}
        for counted in self._delivered.values():
            counted.keep(here)
        return pending

    async def _turn_out(self) -> None:
        """Cut off whoever may not be in any more: unmanaged clients, and former neighbours."""
        strangers = tuple(self._strangers) if self._doorkeeper.policy is Unmanaged.REFUSE else ()
        for number in (*strangers, *self.links.stale()):
            await self.system.kick(number)
