"""Use the server's system account: read its connections and load, receive events, close
connections.

`$SYS.REQ.SERVER.<id>.CONNZ`, `VARZ`, `ACCOUNTZ` and `KICK`, and the accounts' events; see
https://docs.nats.io/running-a-nats-service/configuration/sys_accounts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client

from agent.drivers.base import Retryable, Unsupported
from agent.drivers.nats.server_config import ACCOUNT, CLIENT_ACCOUNT, GUEST_ACCOUNT, SYSTEM_USER
from agent.tasks import end

REQUEST_S = 2.0
"""How long the server may take to answer a request."""
MOST_CONNECTIONS = 1_000_000
"""CONNZ must answer in one page: pages are not of one moment, a connection could fall between
two."""

EventHandler = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """Describe the server's load; its counters began when it was started."""

    server: str = ""
    """The server's id, which changes with each of its restarts."""
    read_at: float = 0.0
    """When this was read, in seconds of the monotonic clock."""
    began_at: float | None = None
    """When the server was started, by the same clock, or a little before."""
    connections: int = 0
    in_messages: int = 0
    out_messages: int = 0
    in_bytes: int | None = None
    out_bytes: int | None = None
    cpu_ratio: float | None = None
    """Processor use, where 1 is one core in full use."""
    cores: int | None = None
    """The number of cores that the server may use: Go's limit where there is one, else those of the
    machine."""
    memory_bytes: int | None = None
    stored_bytes: int | None = None
    most_stored_bytes: int | None = None
    sync_always: bool | None = None


async def connect(
    url: str,
    *,
    user: str,
    password: str,
    life: str = "",
    tls: ssl.SSLContext | None = None,
    lost: Callable[[], None] = lambda: None,
    back: Callable[[], None] = lambda: None,
) -> Any:
    """Return a client that reconnects for ever, its name ending in `life`. Raises Retryable, and
    Unsupported when the server refuses it."""
    problems: list[str] = []
    client: Any = Client()
    encrypted = urlsplit(url).scheme == "tls"

    def say_password() -> str:
        # The library would send it unencrypted when the server, or somebody between, refuses TLS.
        if encrypted and not client._server_info.get("tls_required"):
            raise nats.errors.Error(f"{urlsplit(url).hostname} does not speak TLS")
        return password

    async def remember(error: Exception) -> None:
        problems.append(str(error))

    async def on_lost() -> None:
        lost()

    async def on_back() -> None:
        back()

    connecting = asyncio.create_task(
        client.connect(
            url,
            user=user,
            password=say_password,
            tls=tls or (ssl.create_default_context() if encrypted else None),
            name=f"weir-agent {user} {life}".strip(),
            connect_timeout=REQUEST_S,
            reconnect_time_wait=0.2,
            max_reconnect_attempts=-1,
            ping_interval=5,
            error_cb=remember,
            disconnected_cb=on_lost,
            reconnected_cb=on_back,
        )
    )
    try:
        # The client itself would retry for ever.
        await asyncio.wait((connecting,), timeout=REQUEST_S)
        if not connecting.done():
            raise TimeoutError
        connecting.result()
        return client
    except (OSError, TimeoutError, nats.errors.Error) as error:
        # The server disconnects right after it has refused: some attempts see only that.
        if any("authorization violation" in answer.lower() for answer in [*problems, str(error)]):
            raise Unsupported(
                f"the broker refuses user {user}: its configuration and the agent's secrets "
                "file must come from one rendering (docs/agent.md)"
            ) from error
        reason = (problems or [str(error)])[-1] or "timeout"
        raise Retryable(f"the broker does not answer: {reason}") from error
    finally:
        if not connecting.done():
            await end(connecting)


async def leave(client: Any) -> None:
    """Close a client, whatever state it is in."""
    if client is not None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(client.close(), REQUEST_S)


class SystemAccount:
    """Use one server through its system account."""

    def __init__(
        self, *, url: str, password: str, life: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self._url = url
        self._life = life
        self._tls = tls
        self._password = password
        self._client: Any = None

    @property
    def server(self) -> str:
        """Return the server's id, which changes with each of its restarts."""
        return str(self._client._server_info.get("server_id", ""))

    async def open(
        self,
        *,
        connected: EventHandler,
        disconnected: EventHandler,
        lost: Callable[[], None],
        back: Callable[[], None],
    ) -> None:
        """Connect and subscribe to events. `connected` and `disconnected` receive connections of
        clients; `lost` and `back` are called when the server is away, so that events were missed.
        Raises Retryable, Unsupported."""
        self._client = await connect(
            self._url,
            user=SYSTEM_USER,
            password=self._password,
            life=self._life,
            tls=self._tls,
            lost=lost,
            back=back,
        )
        for account in (ACCOUNT, CLIENT_ACCOUNT, GUEST_ACCOUNT):
            for event, handle in (("CONNECT", connected), ("DISCONNECT", disconnected)):
                subject = f"$SYS.ACCOUNT.{account}.{event}"
                await self._client.subscribe(subject, cb=self._handler(handle))
        await flush(self._client)

    async def close(self) -> None:
        """Disconnect from the server's system account."""
        await leave(self._client)

    def _handler(self, handle: EventHandler) -> Callable[[Any], Awaitable[None]]:
        async def receive(message: Any) -> None:
            with contextlib.suppress(ValueError):
                event = json.loads(message.data)
                # Events of a former process of the server do not concern present connections.
                if isinstance(event, dict) and event.get("server", {}).get("id") == self.server:
                    handle(event)

        return receive

    async def connections(self) -> list[dict[str, Any]]:
        """Return all connections, as CONNZ shows them. Raises Retryable."""
        body = await self._ask("CONNZ", {"auth": True, "limit": MOST_CONNECTIONS})
        return list(body.get("connections") or ())

    async def started(self) -> tuple[str, int]:
        """Return the server's id, and when its process began, in nanoseconds of the clock by which
        it stamps messages. Raises Retryable."""
        server = self.server
        body = await self._ask("VARZ", {})
        if body.get("server_id") != server:
            raise Retryable("the broker was restarted meanwhile")
        return server, nanoseconds(str(body.get("start", "")))

    async def accounts(self) -> frozenset[str]:
        """Return the names of the server's accounts. Raises Retryable."""
        body = await self._ask("ACCOUNTZ", {})
        return frozenset(map(str, body.get("accounts") or ()))

    async def refuse_cluster(self) -> None:
        """Raise Unsupported unless the server stands alone; see `cluster_problem`."""
        body = await self._ask("VARZ", {})
        reason = cluster_problem(body)
        if reason:
            raise Unsupported(reason)

    async def load(self) -> ServerLoad:
        """Return the server's load. Raises Retryable."""
        asked_at = time.monotonic()
        body = await self._ask("VARZ", {})
        streams = body.get("jetstream", {})
        jetstream, stored = streams.get("config"), streams.get("stats", {}).get("storage")
        cores = int(body.get("gomaxprocs") or body.get("cores") or 0)
        try:
            up_ns = nanoseconds(str(body.get("now", ""))) - nanoseconds(str(body.get("start", "")))
        except Retryable:
            up_ns = None
        return ServerLoad(
            server=str(body.get("server_id", "")),
            read_at=time.monotonic(),
            began_at=None if up_ns is None else asked_at - up_ns / 1e9,
            connections=int(body.get("connections", 0)),
            in_messages=int(body.get("in_client_msgs", body.get("in_msgs", 0))),
            out_messages=int(body.get("out_client_msgs", body.get("out_msgs", 0))),
            in_bytes=_total(body.get("in_client_bytes", body.get("in_bytes"))),
            out_bytes=_total(body.get("out_client_bytes", body.get("out_bytes"))),
            cpu_ratio=float(body.get("cpu", 0.0)) / 100,
            cores=cores or None,
            memory_bytes=int(body.get("mem", 0)),
            stored_bytes=None if stored is None else int(stored),
            # The server says 0 or -1 where nothing is limited.
            most_stored_bytes=_limit((jetstream or {}).get("max_storage")),
            sync_always=None if not jetstream else bool(jetstream.get("sync_always", False)),
        )

    async def kick(self, connection: int) -> None:
        """Close a connection; harmless when it is gone. Raises Retryable."""
        await self._request("KICK", {"cid": connection})

    async def _ask(self, question: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = (await self._request(question, body)).get("data")
        if not isinstance(answer, dict):
            raise Retryable(f"{question}: the server did not answer what was asked")
        return answer

    async def _request(self, question: str, body: Mapping[str, Any]) -> dict[str, Any]:
        subject = f"$SYS.REQ.SERVER.{self.server}.{question}"
        try:
            answer = await self._client.request(
                subject, json.dumps(dict(body)).encode(), timeout=REQUEST_S
            )
            parsed = json.loads(answer.data)
        except (nats.errors.Error, OSError, TimeoutError, ValueError) as error:
            raise Retryable(f"{question}: {error or 'no answer in time'}") from error
        if not isinstance(parsed, dict):
            raise Retryable(f"{question}: not an object")
        return parsed


def _total(value: object) -> int | None:
    """Return a counter of the server, None where it does not say it."""
    return int(value) if isinstance(value, int) else None


def _limit(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def cluster_problem(answer: Mapping[str, Any]) -> str:
    """Return why an agent cannot control a server, by its INFO or its VARZ; empty when it stands
    alone.

    Servers joined by routes, gateways or leaf nodes share subjects. A login asked of the agent
    reaches whichever agent is first, a best-effort message every agent that reads its flow, and
    a stream may lie on another server than the agent that counts its messages.
    """
    cluster, gateway, leaf = answer.get("cluster"), answer.get("gateway"), answer.get("leaf")
    joined = ""
    if isinstance(cluster, str) and cluster:
        joined = f"is one of the cluster {cluster}"
    elif isinstance(cluster, Mapping) and cluster:
        joined = f"is one of the cluster {cluster.get('name', '')}".rstrip()
    elif isinstance(gateway, Mapping) and gateway:
        joined = f"has a gateway {gateway.get('name', '')}".rstrip()
    elif (isinstance(leaf, Mapping) and leaf) or answer.get("leafnodes"):
        joined = "has leaf nodes"
    domain = answer.get("domain") or _domain(answer)
    if not joined and domain:
        joined = f"has the JetStream domain {domain}"
    if not joined:
        return ""
    return (
        f"the broker {joined}: every broker of Weir must be a server of its own. Take the blocks "
        "`cluster`, `gateway`, `leafnodes` and the JetStream `domain` out of its configuration, "
        "restart it, and join brokers by links of Weir's overlay"
    )


def _domain(answer: Mapping[str, Any]) -> str:
    jetstream = answer.get("jetstream")
    config = jetstream.get("config") if isinstance(jetstream, Mapping) else None
    return str((config or {}).get("domain", ""))


def nanoseconds(moment: str) -> int:
    """Return a time that the server wrote (RFC 3339, up to nine decimals) in nanoseconds since
    1970. Raises Retryable."""
    whole, _, rest = moment.partition(".")
    digits = rest.rstrip("Z")
    try:
        began = datetime.fromisoformat(whole.rstrip("Z")).replace(tzinfo=UTC)
        return int(began.timestamp()) * 1_000_000_000 + int(f"{digits:0<9}"[:9] or 0)
    except ValueError as error:
        raise Retryable(f"{moment!r} is no time") from error


async def flush(client: Any) -> None:
    """Wait until the server has processed everything so far. Raises Retryable."""
    try:
        await client.flush(timeout=REQUEST_S)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise Retryable(f"the broker does not answer: {error}") from error
