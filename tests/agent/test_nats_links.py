"""Links between brokers that ask who comes: keys instead of secrets, revocation, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio

from agent.drivers.base import Retryable, Unsupported
from agent.drivers.nats import names
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.link_access import LinkKey, new_seed, public_key, verifies
from agent.drivers.nats.server_config import BrokerSecrets, render
from agent.drivers.nats.system_account import connect
from agent.router import Router
from agent.store import Change
from tests.agent import certificates
from tests.agent.brokers import Broker
from tests.agent.certificates import Certificates
from tests.agent.planes import NO_LINKS, until
from tests.nats_clients import processed
from tests.nats_server import NatsServer, free_port
from weir.coordination.wire import ClassSpec, Delivery, FlowSpec

pytestmark = pytest.mark.stack
WAIT_S = 60.0
FLOW = FlowSpec(delivery=Delivery.RELIABLE)


class Side:
    """A broker that asks its agent, with the agent's driver and router."""

    def __init__(self, broker: Broker, tls: ssl.SSLContext | None = None) -> None:
        self.broker = broker
        self.name = broker.name
        self.tls = tls
        self.tables = NO_LINKS
        self.secrets = broker.secrets
        self._open()

    def _open(self) -> None:
        self.driver = NatsDriver(
            url=self.broker.url, broker=self.name, secrets=self.secrets, tls=self.tls
        )
        self.router = Router(self.driver, tables=self.tables, save=self._save)

    async def _save(self, change: Change) -> None:
        self.tables = change(self.tables)

    @property
    def key(self) -> str:
        return LinkKey(self.secrets.link_seed).public

    async def open(self, *, ingress: bool = False) -> None:
        await self.driver.open()
        await self.driver.admit({"all": ClassSpec(flow="tides")}, unmanaged="refuse")
        self.router.start()
        await self.router.flows.ensure_flow(
            "tides", FlowSpec(delivery=Delivery.RELIABLE, ingress=ingress)
        )
        await self.router.know(("tides",), None)
        await self.router.flows.set_local(() if ingress else ("tides",))

    async def again(self, link_seed: str, *, ingress: bool = False) -> None:
        """The agent is another process now, with another key."""
        await self.close()
        plain = {name: getattr(self.secrets, name) for name in BrokerSecrets.__slots__}
        self.secrets = BrokerSecrets(**{**plain, "link_seed": link_seed})
        self._open()
        await self.open(ingress=ingress)

    async def meet(self, other: Side) -> None:
        """As a document with this neighbour does."""
        await self.driver.trust({other.name: other.key})
        await self.router.add_link(other.name, other.broker.url)

    async def lose(self, other: Side) -> None:
        """As a document does whose neighbour was revoked."""
        await self.driver.trust({})
        self.router.set_addresses({other.name: ""})

    async def client(self) -> Any:
        """The agent's own rights, to look and to publish."""
        return await asyncio.wait_for(
            nats.connect(
                self.broker.url,
                user="agent",
                password=self.secrets.agent_password,
                tls=self.tls,
                allow_reconnect=False,
            ),
            WAIT_S,
        )

    async def links(self) -> set[str]:
        """Links that the server itself has, by the name of their token."""
        assert self.driver._admission is not None
        there = await self.driver._admission.system.connections()
        users = {c.get("authorized_user", "") for c in there}
        return {name for name in users if name.startswith("link/")}

    async def close(self) -> None:
        await self.router.close()
        await self.driver.close()


@contextlib.asynccontextmanager
async def two_sides(tmp_path: Path, tls: Certificates | None = None) -> AsyncIterator[list[Side]]:
    """Broker a, where `tides` comes in, and broker b, where it is wanted."""
    async with contextlib.AsyncExitStack() as stack:
        sides = []
        for name in "ab":
            broker = Broker(
                name, tmp_path / name, BrokerSecrets.generate(), tls=tls.server if tls else None
            )
            stack.callback(broker.kill)
            broker.start()
            side = Side(broker, tls.verifying() if tls else None)
            stack.push_async_callback(side.close)
            await side.open(ingress=name == "a")
            sides.append(side)
        yield sides


@pytest_asyncio.fixture
async def sides(tmp_path: Path) -> AsyncIterator[list[Side]]:
    async with two_sides(tmp_path) as sides:
        yield sides


async def join(a: Side, b: Side) -> None:
    await a.meet(b)
    await b.meet(a)
    await until(
        lambda: a.router.ready and b.router.ready, f"{a.router.problems} {b.router.problems}"
    )


async def _cut(side: Side, neighbour: str) -> None:
    """The connection of a link breaks; returns when making another one has failed."""
    await until(lambda: neighbour in side.driver._links, "a link")
    session = side.driver._links[neighbour].session
    connection = session.current
    if connection is not None:
        connection.close("cut")
    await until(lambda: session._refusal is None and session.current is None, "cut")
    session.problem = ""
    await until(lambda: session.problem != "", "another try")


async def publish(side: Side, *payloads: bytes) -> None:
    client = await side.client()
    for payload in payloads:
        await client.jetstream(timeout=WAIT_S).publish("weir.in.tides", payload)
    await client.close()


async def count(side: Side, stream: str) -> int:
    client = await side.client()
    try:
        info = await client.jetstream(timeout=WAIT_S).stream_info(stream)
        return int(info.state.messages)
    finally:
        await client.close()


async def reaches(side: Side, stream: str, wanted: int) -> None:
    async with asyncio.timeout(WAIT_S):
        while await count(side, stream) != wanted:
            await asyncio.sleep(0.05)


class Listener:
    """Pretends to be a broker at some address, and writes down what it is told."""

    def __init__(self, **info: Any) -> None:
        self.info = {
            "server_id": "X",
            "version": "2.15.1",
            "headers": True,
            "max_payload": 1048576,
            "auth_required": True,
            "nonce": "c29tZSBub25jZQ",
            **info,
        }
        self.heard = b""
        self.told = asyncio.Event()
        self.port = free_port()
        self.url = f"nats://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Listener:
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO " + json.dumps(self.info).encode() + b"\r\n")
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self.heard += line
                if line.startswith(b"PING"):
                    writer.write(b"PONG\r\n")
                    self.told.set()
        writer.close()

    @property
    def connect(self) -> dict[str, Any]:
        """What CONNECT said."""
        line = next(x for x in self.heard.splitlines() if x.startswith(b"CONNECT "))
        return dict(json.loads(line.removeprefix(b"CONNECT ")))


@pytest.mark.asyncio
async def test_an_address_is_told_no_secret_and_nothing_that_opens_another_broker(
    sides: list[Side],
) -> None:
    a, _ = sides
    async with Listener() as listener:
        linking = asyncio.create_task(a.driver.ensure_link("attacker", listener.url))
        await asyncio.wait_for(listener.told.wait(), WAIT_S)
        linking.cancel()
        await asyncio.gather(linking, return_exceptions=True)
        said = listener.connect
    assert not {"user", "pass", "auth_token", "jwt"} & said.keys()
    secrets = (a.secrets.client_key, a.secrets.agent_password, a.secrets.system_password)
    for secret in (*secrets, a.secrets.link_seed, a.secrets.issuer_seed):
        assert secret.encode() not in listener.heard
    assert said["nkey"] == a.key
    nonce = listener.info["nonce"]
    assert verifies(a.key, said["sig"], reader="a", owner="attacker", nonce=nonce)
    # A man in the middle cannot pass it on to another neighbour of ours.
    assert not verifies(a.key, said["sig"], reader="a", owner="b", nonce=nonce)


@pytest.mark.asyncio
async def test_a_user_in_an_address_is_not_sent(sides: list[Side]) -> None:
    a, _ = sides
    async with Listener() as listener:
        url = listener.url.replace("nats://", "nats://user:pass@")
        linking = asyncio.create_task(a.driver.ensure_link("attacker", url))
        await asyncio.wait_for(listener.told.wait(), WAIT_S)
        linking.cancel()
        await asyncio.gather(linking, return_exceptions=True)
        assert not {"user", "pass"} & listener.connect.keys()


@pytest.mark.asyncio
async def test_a_broker_that_sends_no_nonce_is_told_nothing(sides: list[Side]) -> None:
    a, _ = sides
    async with Listener(nonce=None) as listener:
        with pytest.raises(Retryable, match="no nonce"):
            await a.driver.ensure_link("old", listener.url)
        assert b"CONNECT" not in listener.heard


@pytest.mark.asyncio
async def test_neighbours_link_by_their_keys_and_messages_pass(
    sides: list[Side],
) -> None:
    a, b = sides
    await join(a, b)
    await publish(a, b"1", b"2")
    await reaches(b, "WEIR_MSG_tides", 2)
    assert await a.links() == {f"link/b/{b.key}"}
    assert await b.links() == {f"link/a/{a.key}"}


@pytest.mark.asyncio
async def test_a_neighbour_that_is_no_longer_trusted_loses_its_link_and_no_message(
    sides: list[Side],
) -> None:
    a, b = sides
    await join(a, b)
    await publish(a, b"1")
    await reaches(b, "WEIR_MSG_tides", 1)
    await reaches(a, "WEIR_TO_b", 0)
    await a.lose(b)
    async with asyncio.timeout(WAIT_S):
        while await a.links() or await b.links():
            await asyncio.sleep(0.02)
    await publish(a, b"2", b"3")
    await reaches(a, "WEIR_TO_b", 2)
    assert any("is suspended" in text for text in a.router.problems.values())
    assert await count(b, "WEIR_MSG_tides") == 1
    # Enrolled anew: another process with another key.
    await b.again(new_seed())
    await join(a, b)
    await reaches(b, "WEIR_MSG_tides", 3)
    await reaches(a, "WEIR_TO_b", 0)
    assert a.router.problems == {}
    assert await a.links() == {f"link/b/{b.key}"}


@pytest.mark.asyncio
async def test_a_link_that_rests_after_a_restart_keeps_its_outbox(
    sides: list[Side],
) -> None:
    a, b = sides
    await join(a, b)
    await a.lose(b)
    await publish(a, b"1")
    await reaches(a, "WEIR_TO_b", 1)
    await a.again(new_seed(), ingress=True)
    a.router.set_addresses({"b": ""})
    await until(lambda: "b" in a.router.problems, "it rests")
    await publish(a, b"2")
    await reaches(a, "WEIR_TO_b", 2)
    await join(a, b)
    await reaches(b, "WEIR_MSG_tides", 2)


@pytest.mark.asyncio
async def test_what_an_agent_fetches_is_heard_by_no_publisher(sides: list[Side]) -> None:
    a, b = sides
    await join(a, b)
    overheard: list[bytes] = []

    async def keep(message: Any) -> None:
        overheard.append(message.data)

    spies = []
    for side in sides:
        spy = await nats.connect(
            side.broker.url, user="publisher", password=side.secrets.client_key
        )
        await spy.subscribe("_INBOX.>", cb=keep)
        await processed(spy)
        spies.append(spy)
    await publish(a, b"a secret")
    await reaches(b, "WEIR_MSG_tides", 1)
    for spy in spies:
        await processed(spy)
        await spy.close()
    assert b"a secret" not in overheard


@pytest.mark.asyncio
async def test_a_configuration_of_before_links_had_keys_is_named(tmp_path: Path) -> None:
    secrets = BrokerSecrets.generate()
    text = render(
        name="old", host="127.0.0.1", port=1, monitor_port=2, store_dir="S", secrets=secrets
    )
    start = text.index("      {\n        nkey:")
    end = text.index("    ]", start)
    old = text[:start] + text[end:]
    old = old.replace('127.0.0.1:1"', '127.0.0.1:{port}"').replace('"S"', "{store}")
    old = old.replace('http: "127.0.0.1:2"\n', "")
    with NatsServer(tmp_path, config=old) as server:
        driver = NatsDriver(url=server.url, broker="old", secrets=secrets)
        try:
            with pytest.raises(Unsupported, match="render it anew"):
                await driver.open()
        finally:
            await driver.close()


# --- TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates.make(tmp_path_factory.mktemp("another"))


@pytest.mark.asyncio
async def test_links_and_own_broker_by_tls_with_a_private_authority(
    tmp_path: Path, authority: Certificates
) -> None:
    async with two_sides(tmp_path, authority) as (a, b):
        await join(a, b)
        await publish(a, b"1")
        await reaches(b, "WEIR_MSG_tides", 1)
        assert a.driver._admission is not None
        there = await a.driver._admission.system.connections()
        assert {bool(c.get("tls_version")) for c in there} == {True}


@pytest.mark.asyncio
async def test_a_certificate_of_another_authority_is_refused(
    tmp_path: Path, authority: Certificates, another: Certificates
) -> None:
    broker = Broker("a", tmp_path, BrokerSecrets.generate(), tls=authority.server)
    broker.start()
    driver = NatsDriver(url=broker.url, broker="a", secrets=broker.secrets, tls=another.verifying())
    try:
        with pytest.raises(Retryable, match="certificate"):
            await driver.open()
    finally:
        await driver.close()
        broker.kill()


@pytest.mark.asyncio
async def test_no_password_is_sent_where_tls_was_wanted_and_nobody_speaks_it(
    authority: Certificates,
) -> None:
    secrets = BrokerSecrets.generate()
    async with Listener(tls_required=False) as listener:
        url = listener.url.replace("nats://", "tls://")
        driver = NatsDriver(url=url, broker="a", secrets=secrets, tls=authority.verifying())
        with pytest.raises(Retryable):
            await driver.open()
        with pytest.raises(Retryable):
            await connect(
                url, user="system", password=secrets.system_password, tls=authority.verifying()
            )
        await driver.close()
        assert b"CONNECT" not in listener.heard
        assert secrets.agent_password.encode() not in listener.heard
        assert secrets.system_password.encode() not in listener.heard


# --- keys


def test_a_signature_holds_for_one_connection_and_two_ends() -> None:
    key = LinkKey(new_seed())
    good = {"reader": "a", "owner": "b", "nonce": "n"}
    signature = key.sign(**good)
    assert verifies(key.public, signature, **good)
    for name in good:
        assert not verifies(key.public, signature, **{**good, name: "x"})
    assert not verifies(LinkKey(new_seed()).public, signature, **good)
    for junk in ("", "!", "AAAA", signature[:-4]):
        assert not verifies(key.public, junk, **good)
    for junk in ("", "U", "U" * 56, key.public[:-1] + "é", public_key(new_seed(), 0)):
        assert not verifies(junk, signature, **good)


def test_names_that_hold_line_ends_are_no_other_ends() -> None:
    key = LinkKey(new_seed())
    signature = key.sign(reader="a\nb", owner="c", nonce="n")
    assert not verifies(key.public, signature, reader="a", owner="b\nc", nonce="n")


def test_inboxes_of_different_readers_have_different_prefixes() -> None:
    prefixes = {
        names.AGENT_INBOX,
        names.link_inbox("a"),
        names.link_inbox("b"),
        names.class_inbox("a"),
        names.class_inbox("b"),
        "_INBOX",
    }
    for one in prefixes:
        assert not any(other != one and other.startswith(one + ".") for other in prefixes)


@pytest.mark.asyncio
async def test_a_broker_whose_agent_is_dead_answers_though_it_lets_nobody_in(sides):
    """Who is said to be gone has publishers: they stay connected when the agent dies."""
    a, b = sides
    await join(a, b)
    await b.close()
    await _cut(a, "b")
    assert a.router.answering == {"b"}
    # The neighbour's agent has been restarted meanwhile, and has never been let in there.
    await a.again(new_seed(), ingress=True)
    await a.meet(b)
    await _cut(a, "b")
    assert a.router.answering == {"b"}
    b.broker.kill()
    await until(lambda: not a.router.answering, "still there")


@pytest.mark.asyncio
async def test_another_server_at_the_address_of_a_broker_is_not_that_broker(sides):
    a, b = sides
    await join(a, b)
    await b.close()
    b.broker.kill()
    stranger = Listener(server_name="somebody")
    stranger.port = b.broker.port
    async with stranger:
        await asyncio.wait_for(stranger.told.wait(), WAIT_S)
        await until(lambda: not a.router.answering, "taken for the broker")
