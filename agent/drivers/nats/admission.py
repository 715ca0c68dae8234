"""Admit clients at a NATS server: answer its auth callout, and evict consumers above a limit.

| event | subject or request | action |
|---|---|---|
| a client connects | `$SYS.REQ.USER.AUTH` | ask the book, answer with a signed token or a refusal |
| a connection began or ended | `$SYS.ACCOUNT.<account>.CONNECT`, `DISCONNECT` | correct the book |
| the list of connections | `CONNZ`, once a second and after every interruption | correct the book |
| the agent closes a connection | `KICK` | wait until it is closed |
| lists of publishers change | `weir.moved.F`, a second later `KICK` | wait until it is closed |

The token's name carries class, flow and lease, so that the connections themselves are the durable
record of admissions: a restarted agent reads them before it admits anybody. While no agent answers,
the server refuses new connections and keeps existing ones.

A client that is refused has no connection, so it receives nothing; `login` decides whom to admit.

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
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import nats.errors

from agent.admission import AdmissionBook
from agent.drivers.base import ClassAdmission, Fenced, Retryable, Unsupported
from agent.drivers.nats import names
from agent.drivers.nats.link_access import LinkAccess
from agent.drivers.nats.login import (
    GUEST,
    LoginDecider,
    place_of,
    publisher_record,
    subscriber_name,
)
from agent.drivers.nats.publisher_times import PublisherTimes
from agent.drivers.nats.server_config import (
    ACCOUNT,
    ADMISSION_USER,
    AUTH_TIMEOUT_S,
    CLIENT_ACCOUNT,
    BrokerSecrets,
)
from agent.drivers.nats.stats import Deliveries
from agent.drivers.nats.system_account import ServerLoad, SystemAccount, connect, flush, leave
from agent.drivers.nats.tokens import ConnectRequest, read_request
from agent.publishers import PublisherBook
from agent.tasks import end
from weir.coordination.wire import ClassSpec, Publishers, Unmanaged

log = logging.getLogger("weir.agent.admission")

OLDER = (
    "the broker's configuration is of an older Weir, which keeps clients in the account of the "
    "streams, where they can reach what they have no right to: render it anew (python -m "
    "agent.drivers.nats.configure) and restart the broker"
)
EVICT_S = 5.0
"""How long evicted consumers may take to leave."""
POLL_S = 1.0
RELEASE_S = 0.1
RELEASE_READ_S = 0.5
"""The pause between two readings of the connections while publishers have to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Hold what consumers had received when the server's connections were last read."""

    at: float = 0.0
    """The time of reading, in seconds of the monotonic clock."""
    delivered: Mapping[str, int] = field(default_factory=dict)
    """Class -> messages that its consumers had received from the process of `Admission.load`."""
    out_before: int = 0
    """What that process had sent in all before its connections were read."""


class Subscribers:
    """The connections of subscribers of streams."""

    def __init__(self) -> None:
        self.gone: Callable[[str], None] = lambda name: None
        """It is called with the name of a subscriber whose last connection has ended."""
        self.compared: Callable[[Collection[str]], None] = lambda names: None
        """It is called with the names of all who are connected, whenever that was read."""
        self._names: dict[int, str] = {}
        self._begun: dict[int, int] = {}
        """Connection -> how many had begun before it."""
        self._count = 0

    def mark(self) -> int:
        """Return a number for `present`, to be taken before the connections are read."""
        return self._count

    def begin(self, number: int, name: str) -> None:
        """Take note of a connection; idempotent."""
        if number not in self._names:
            self._begun[number] = self._count
            self._count += 1
        self._names[number] = name

    def end(self, number: int) -> None:
        """Forget a connection that has ended; others are none of a subscriber."""
        name = self._names.pop(number, None)
        self._begun.pop(number, None)
        if name is not None and name not in self._names.values():
            self.gone(name)

    def present(self, numbers: Collection[int], *, as_of: int) -> None:
        """Forget all other connections than these that had begun as of a `mark`."""
        for number in self._names.keys() - set(numbers):
            if self._begun[number] < as_of:
                self.end(number)
        self.compared(frozenset(self._names.values()))


class Admission:
    """Decide who may connect to one NATS server. Call `open`, then `admit` as often as limits
    change."""

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
        check_ours: Callable[[], Awaitable[None]] | None = None,
        moved: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take `broker`, our name in documents, which neighbours sign; `lease_s`, where 0 means
        tokens without end; `wait_s` and `hold_s` of `AdmissionBook`; and `life`, with which the
        names of our connections end. `ours` raises Fenced when another process answers for this
        broker; it is called after every interruption. `moved` notifies the publishers of a flow
        that the place of some has changed."""
        self.book = AdmissionBook(wait_s=wait_s, hold_s=hold_s)
        self.publishers = PublisherBook()
        self.publisher_times = PublisherTimes()
        self.problems: tuple[str, ...] = ()
        """A sentence for each thing that the server's configuration lacks."""
        self.load = ServerLoad()
        self.counted = Counted()
        self.system = SystemAccount(url=url, password=secrets.system_password, life=life, tls=tls)
        self.links = LinkAccess(broker)
        self.subscribers = Subscribers()
        self._tls = tls
        self._url = url
        self._life = life
        self._check_ours = check_ours
        self._secrets = secrets
        self._lease_s = lease_s
        self._login = LoginDecider(
            book=self.book,
            publishers=self.publishers,
            links=self.links,
            secrets=secrets,
            lease_s=lease_s,
        )
        self._moved = moved
        self._someone_leaves = asyncio.Event()
        self._releaser: asyncio.Task[None] | None = None
        self._server = ""
        self._ready = False
        self._stopped = False
        self._subscription: Any = None
        """The subscription to the server's requests; None before the first limits."""
        self._answering = asyncio.Lock()
        self._admission: Any = None
        self._changed = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None
        self._resync: asyncio.Task[None] | None = None
        self._unmanaged: dict[int, str] = {}
        self._deliveries = Deliveries()
        self._counting = False
        """Whether the connections that existed before this object are known."""
        self._away = ""

    # --- life

    async def open(self) -> None:
        """Read who is connected. Nobody is admitted before the first `admit`.

        Raises Retryable when the server is away, Unsupported when it is not configured for it.
        """
        await self.system.open(
            connected=self._on_connect,
            disconnected=self._on_disconnect,
            lost=self._system_lost,
            back=self._reload,
        )
        self._admission = await connect(
            self._url,
            user=ADMISSION_USER,
            password=self._secrets.agent_password,
            life=self._life,
            tls=self._tls,
        )
        await self.system.refuse_cluster()
        before = await self.system.load()
        await self._learn()
        await self._count(before)
        self._poller = asyncio.create_task(self._poll(), name="admission")
        self._releaser = asyncio.create_task(self._release(), name="release of publishers")

    async def close(self) -> None:
        """Stop answering; connected clients stay connected."""
        self._ready, self._subscription, self._login.policy = False, None, None
        tasks = (self._poller, self._resync, self._releaser)
        await end(*(task for task in tasks if task is not None))
        await leave(self._admission)
        await self.system.close()

    def _system_lost(self) -> None:
        self._ready = False

    def _reload(self) -> None:
        """Read the connections again after an interruption: the server may have restarted, events
        are lost."""

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
                    log.error("admission: stopped answering: %s", error)
                    return

        if self._resync is None or self._resync.done():
            self._resync = asyncio.create_task(learn(), name="admission resync")

    async def _learn(self) -> None:
        """Rebuild the book from the server's connections, then admit clients again.

        A predecessor may have admitted a connection that is still pending: wait until all pending
        ones have come or gone, at most for the server's own timeout.
        """
        server = self.system.server
        if server != self._server:
            self.book.clear()
            self.links.clear()
            self.publishers.clear()
            self.subscribers.present((), as_of=self.subscribers.mark())
            self.publisher_times.clear()
            self._unmanaged.clear()
            self._server = server
            self._deliveries.restarted()
        accounts = await self.system.accounts()
        self.problems = () if CLIENT_ACCOUNT in accounts else (OLDER,)
        self._login.client_account = ACCOUNT if self.problems else CLIENT_ACCOUNT
        pending = await self.refresh()
        deadline = time.monotonic() + AUTH_TIMEOUT_S + 1.0
        while pending and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
            pending &= await self.refresh()
        if self._check_ours is not None:
            await self._check_ours()
        self._ready = True
        log.info(
            "admission: %d admitted, %d unmanaged connections found",
            len(self.book),
            len(self._unmanaged),
        )

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                before = await self.system.load()
                await self.refresh()
                await self._count(before)
                if self._away:
                    log.info("admission: the broker answers again")
                self._away = ""
                if self._login.policy is not None and self._ready:
                    now = time.time()
                    margin = max(self._lease_s / 10, 2.5 * POLL_S)
                    for place in self.book.renew(now, margin_s=margin) + self.book.excess():
                        await self.system.kick(place.connection)
                    await self._disconnect_unwanted()
            except Retryable as error:
                if not self._away:
                    log.warning("admission: %s", error)
                self._away = str(error)
            except Exception:
                # Polling must not stop: leases and evictions depend on it.
                log.exception("admission: unexpected error")

    async def _release(self) -> None:
        """Notify publishers whose rights have changed, and disconnect those that do not leave."""
        while True:
            await self._someone_leaves.wait()
            self._someone_leaves.clear()
            read_at = time.monotonic()
            while self.publishers.leaving:
                for flow in sorted(self.publishers.notices()):
                    self.publisher_times.noticed()
                    self._moved(flow)
                try:
                    for number in self.publishers.due() if self._ready else ():
                        await self.system.kick(number)
                    if time.monotonic() - read_at >= RELEASE_READ_S:
                        # An event may be lost, and a connection may have begun before the notice.
                        await self.refresh()
                        read_at = time.monotonic()
                except Retryable as error:
                    log.info("admission: publishers cannot be released now: %s", error)
                except Exception:
                    # Lists of publishers depend on it, as polling.
                    log.exception("admission: unexpected error")
                await asyncio.sleep(RELEASE_S)

    async def _count(self, before: ServerLoad) -> None:
        """Read the server's counters right after its connections, so that both are nearly of one
        moment, and of one process. `before`: the counters as they were before the connections were
        read, which says how nearly. Raises Retryable."""
        server = self._server
        counted = Counted(
            at=time.monotonic(), delivered=self.delivered(), out_before=before.out_messages
        )
        load = await self.system.load()
        if not before.server == server == load.server:
            raise Retryable("the broker was restarted while its counters were read")
        self.load, self.counted = load, counted

    # --- what drivers use

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str = "refuse") -> None:
        """Enforce these limits from now on; returns when no class is above its limit.

        Raises Retryable when evicted consumers have not left in time; the limits hold all the
        same, and the eviction goes on.
        """
        self._login.policy = Unmanaged.of(unmanaged)
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
        await self._disconnect_unwanted()

    def assign(self, lists: Mapping[str, Publishers]) -> frozenset[str]:
        """Let only these publishers publish these flows from now on, and release the others within
        the next seconds; return the flows that others may still publish."""
        self.publishers.rule(lists)
        self._someone_leaves.set()
        # While the broker is away nobody knows who is connected.
        return self.publishers.held() if self._ready else frozenset(lists)

    async def trust(self, public_keys: Mapping[str, str]) -> None:
        """Let these neighbours open links, each with its key, and disconnect other links now or
        within the next polls. Raises Retryable when the server is away."""
        self.links.rule(public_keys)
        await self._listen()
        for number in self.links.stale():
            await self.system.kick(number)

    def misses(self, neighbour: str) -> bool:
        """Return whether the broker is known to have no connection of this neighbour's agent."""
        return self._ready and not self.links.here(neighbour)

    async def revoke(self, name: str, consumer: str) -> None:
        """Disconnect one consumer of a class; it may ask again."""
        for place in self.book.places(name):
            if place.consumer == consumer:
                await self.system.kick(place.connection)

    def stop(self) -> None:
        """Stop answering at once and for good; connected clients stay connected."""
        self._ready, self._stopped = False, True

    def classes(self) -> dict[str, ClassAdmission]:
        """Return the limit, the admitted and the waiting of every class that has a limit entry."""
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
        """Return for each class the messages that its consumers have received since this object was
        opened, or since the server was restarted."""
        return self._deliveries.totals()

    def unmanaged(self) -> tuple[str, ...]:
        """Return the names of connected clients that belong to no class; empty where the system
        does not want them reported."""
        if self._login.policy is Unmanaged.ALLOW:
            return ()
        return tuple(sorted(self._unmanaged.values()))

    # --- requests and events of the server

    async def _listen(self) -> None:
        """Subscribe to the server's requests. Raises Retryable."""
        async with self._answering:
            if self._subscription is None:
                self._subscription = await self._admission.subscribe(
                    "$SYS.REQ.USER.AUTH", cb=self._on_request
                )
            await flush(self._admission)

    async def _on_request(self, message: Any) -> None:
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
            return self._login.refuse(request, "the agent is not ready", now)
        return self._login.decide(request, now)

    def _on_connect(self, event: Mapping[str, Any]) -> None:
        client = event.get("client", {})
        self._adopt(client.get("id"), client.get("user", ""), client.get("name", ""), client)

    def _on_disconnect(self, event: Mapping[str, Any]) -> None:
        number = event.get("client", {}).get("id")
        self._unmanaged.pop(number, None)
        self.links.gone(number)
        self.publishers.gone(number)
        self.subscribers.end(number)
        place = self.book.gone(number, time.time())
        # The event takes the client's view: `received` is what the server's list calls `out`.
        received = int(event.get("received", {}).get("msgs", 0))
        if isinstance(number, int):
            self._deliveries.ended(number, received, name="" if place is None else place.name)
        self._changed.set()

    def _adopt(self, number: Any, user: str, name: str, client: Mapping[str, Any]) -> None:
        """Adopt a connection that is through if this book does not know it."""
        if "issuer_key" not in client or not isinstance(number, int):
            return
        if user.startswith(GUEST):
            self._unmanaged[number] = names.name_of(user.partition("/")[2])
        elif (record := publisher_record(user)) is not None:
            self.publishers.adopt(number, name=name, record=record)
            self._someone_leaves.set()
        elif (subscriber := subscriber_name(user)) is not None:
            self.subscribers.begin(number, subscriber)
        elif not self.links.meet(number, user) and self.book.place(number) is None:
            place = place_of(number, user, name)
            if place is not None:
                self.book.adopt([place])

    # --- requests to the server

    async def refresh(self) -> set[int]:
        """Correct the book by the server's connections; return the numbers of those still
        pending."""
        if self._server != self.system.server:
            raise Retryable("the broker was restarted; its connections are being read again")
        as_of, logins = self.book.mark(), self.publishers.mark()
        subscribers = self.subscribers.mark()
        connections = await self.system.connections()
        pending: set[int] = set()
        for connection in connections:
            number = connection["cid"]
            if "account" not in connection:
                pending.add(number)
                continue
            user = connection.get("authorized_user", "")
            self._adopt(number, user, connection.get("name", ""), connection)
            place = self.book.place(number)
            if place is not None:
                count = int(connection.get("out_msgs", 0))
                self._deliveries.saw(number, place.name, count, began_before=not self._counting)
        here = {connection["cid"] for connection in connections}
        self.book.present(here, as_of=as_of, now=time.time())
        self.publishers.present(here, as_of=logins)
        self.publisher_times.read(connections, self.publishers.name_of)
        self.links.present(here)
        self.subscribers.present(here, as_of=subscribers)
        self._unmanaged = {n: name for n, name in self._unmanaged.items() if n in here}
        self._deliveries.present(here)
        self._counting = True
        return pending

    async def _disconnect_unwanted(self) -> None:
        """Disconnect clients that may no longer be connected: unmanaged ones, and former
        neighbours."""
        unmanaged = tuple(self._unmanaged) if self._login.policy is Unmanaged.REFUSE else ()
        for number in (*unmanaged, *self.links.stale()):
            await self.system.kick(number)
