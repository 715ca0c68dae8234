"""Who may hear and ask what at a real nats-server: a table of everybody against everything."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import quote

import nats.errors
import pytest
import pytest_asyncio
from nats.aio.client import Client

from agent.drivers.nats.admission import Admission
from agent.drivers.nats.link_access import LinkKey, new_seed
from agent.drivers.nats.names import class_inbox, link_inbox
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker, consumers_made
from tests.nats_clients import processed
from weir.coordination.wire import ClassSpec, Publishers

pytestmark = pytest.mark.stack

WAIT_S = 60.0
OWN = "b1"
GOLD, SILVER, FULL = "gold", "silver", "full"
CLASSES = {
    GOLD: ClassSpec(flow="trades", limit=5),
    SILVER: ClassSpec(flow="secrets", limit=5),
    FULL: ClassSpec(flow="trades", limit=0),
}
MODES = ("refuse", "report", "allow")

STREAMS = {
    "WEIR_MSG_trades": "weir.msg.trades.*",
    "WEIR_MSG_secrets": "weir.msg.secrets.*",
    "WEIR_TO_n1": "weir.to.n1.*.*",
    "WEIR_TO_n2": "weir.to.n2.*.*",
    "WEIR_IN_trades": "weir.in.kept",
    "WEIR_INTEREST": "weir.interest.*",
    "WEIR_ON_1_2": "weir.kept.1.2.*.*",
    "WEIR_READERS": "weir.reader.*",
}
SPOKEN = (
    "weir.msg.trades",
    "weir.msg.secrets",
    "weir.msg.secrets.b1-1",
    "weir.in.trades",
    "weir.in.trades.!",
    "weir.in.kept",
    "weir.where.trades",
    "weir.delays.gold",
    "weir.delays.silver",
    "weir.moved.trades",
    "weir.to.n1.trades",
    "weir.to.n1.!",
    "weir.to.n2.trades",
    "weir.interest.n2",
    "weir.on.1.2.trades",
    "weir.heard.trades",
    "weir.want",
    "weir.who",
    "weir.place",
    "weir.placed",
    "weir.carry",
    "weir.carried",
    "weir.course",
    "weir.read.other",
    "weir.reader.other",
    "weir.kept.1.2.trades.b1-1",
    "_INBOX.somebody.1",
    "_INBOX_weir_subscriber.somebody.1",
    "_INBOX_gold.somebody.1",
    "_INBOX_silver.somebody.1",
    "_WEIR.agent.1.1",
    "_WEIR.link.n1.1.1",
    "_WEIR.link.n2.1.1",
    "own.subject",
)
LISTENED = (
    *SPOKEN,
    *(">", "*.>", "*.*", "*.*.*", "*.*.*.*", "weir.>", "weir.*.*", "weir.msg.>", "weir.msg.*"),
    *(
        "weir.in.*",
        "weir.in.>",
        "weir.where.*",
        "weir.moved.*",
        "weir.moved.>",
        "weir.to.>",
        "weir.to.*.*",
        "weir.to.n1.*",
        "weir.to.n1.>",
        "weir.interest.*",
        "weir.on.>",
        "weir.on.1.>",
        "weir.heard.*",
    ),
    *("_INBOX.>", "_INBOX.*.*", "_INBOX_gold.>", "_INBOX_silver.>", "_INBOX_silver.*.*"),
    *("_WEIR.>", "_WEIR.agent.>", "_WEIR.link.>", "_WEIR.link.n1.>", "_WEIR.link.n2.>"),
    *("$JS.>", "$JS.API.>", "$SYS.>", "$SYS.REQ.USER.AUTH"),
)


def questions() -> dict[str, dict[str, Any]]:
    """JetStream requests: subject -> body."""
    requests: dict[str, dict[str, Any]] = {
        "STREAM.LIST": {},
        "CONSUMER.LIST.WEIR_MSG_secrets": {},
        "STREAM.CREATE.STOLEN": {"name": "STOLEN", "subjects": ["weir.stolen"]},
        "STREAM.CREATE.COPY": {"name": "COPY", "sources": [{"name": "WEIR_MSG_secrets"}]},
    }
    for stream, subject in STREAMS.items():
        config = {"ack_policy": "none", "inactive_threshold": 10**9}
        requests |= {
            f"STREAM.INFO.{stream}": {},
            f"STREAM.UPDATE.{stream}": {"name": stream, "subjects": [subject], "max_msgs": 1},
            f"STREAM.MSG.GET.{stream}": {"seq": 1},
            f"STREAM.MSG.DELETE.{stream}": {"seq": 1},
            f"STREAM.PURGE.{stream}": {"seq": 1},
            f"STREAM.DELETE.{stream}.x": {},
            f"DIRECT.GET.{stream}": {"seq": 1},
            f"CONSUMER.CREATE.{stream}": {"stream_name": stream, "config": config},
            f"CONSUMER.INFO.{stream}.kept": {},
            f"CONSUMER.MSG.NEXT.{stream}.kept": {"batch": 1, "no_wait": True},
        }
    # Deleting comes last, or there would be nothing to ask about.
    return {**requests, **{f"STREAM.DELETE.{stream}": {} for stream in STREAMS}}


def _reader(stream: str) -> set[str]:
    verbs = ("CONSUMER.CREATE.{}", "CONSUMER.INFO.{}.kept", "CONSUMER.MSG.NEXT.{}.kept")
    return {verb.format(stream) for verb in ("STREAM.INFO.{}", *verbs)}


HEARS = {
    "publisher": {"_INBOX.somebody.1", "weir.moved.trades"},
    "consumer": {"weir.msg.trades", "_INBOX_gold.somebody.1"},
    "subscriber": {
        *("weir.on.1.2.trades", "weir.who", "weir.placed", "weir.carried"),
        "_INBOX_weir_subscriber.somebody.1",
    },
    "link": {"weir.to.n1.trades", "weir.to.n1.!", "_WEIR.link.n1.1.1"},
    "stranger": set[str](),
    "nameless": set[str](),
}
MAY_ASK = {
    "publisher": set[str](),
    "consumer": _reader("WEIR_MSG_trades"),
    "subscriber": set[str](),
    "link": _reader("WEIR_TO_n1") | {"STREAM.PURGE.WEIR_TO_n1", "DIRECT.GET.WEIR_TO_n1"},
    "stranger": set[str](),
    "nameless": set[str](),
}


MAY_SAY = {
    "publisher": {"weir.in.trades", "weir.in.kept", "weir.where.trades"},
    "publisher that is not in the list of trades": {"weir.in.kept", "weir.where.trades"},
    "consumer": {"weir.delays.gold"},
    "subscriber": {"weir.heard.trades", "weir.want", "weir.place", "weir.carry", "weir.course"},
    "link": {"weir.ask.n1", "weir.interest.n1"},
    "stranger": {
        *(subject for subject in SPOKEN if not subject.startswith("weir.")),
    },
}


class Scene:
    """One broker whose admission is ours, and everybody who may turn up."""

    def __init__(self, broker: Broker, admission: Admission) -> None:
        self.broker = broker
        self.admission = admission
        self.key = LinkKey(new_seed())
        self.other = LinkKey(new_seed())
        self.errors: dict[int, list[str]] = {}
        self._clients: list[Client] = []

    async def come(self, who: str) -> Client:
        """Raises nats.errors.Error, TimeoutError or OSError when not let in."""
        key, secrets = self.broker.secrets.client_key, self.broker.secrets
        match who:
            case "agent":
                return await self._connect("agent", secrets.agent_password, "_WEIR.agent")
            case "publisher":
                return await self._connect("publisher", key)
            case "publisher that is not in the list of trades":
                self.admission.assign({"trades": Publishers(here=("another",))})
                return await self._connect("publisher", key)
            case "consumer":
                return await self._connect(GOLD, key, class_inbox(GOLD))
            case "subscriber":
                return await self._connect("subscriber", key, "_INBOX_weir_subscriber")
            case "other consumer":
                return await self._connect(SILVER, key, class_inbox(SILVER))
            case "consumer of a full class":
                return await self._connect(FULL, key, class_inbox(FULL))
            case "link":
                return await self._link(self.key, reader="n1")
            case "stranger":
                return await self._connect("somebody", key)
            case "nameless":
                return await self._connect("", "")
            case "link of an unknown key":
                return await self._link(self.other, reader="n1")
            case "link with a signature for another broker":
                return await self._link(self.key, reader="n1", owner="b2")
            case "link with another neighbour's key":
                return await self._link(self.key, reader="n2")
            case "link with a stolen signature":
                return await self._link(self.key, reader="n1", nonce="AAAAAAAAAAAAAAA")
            case "link with the public key alone":
                return await self._link(self.key, reader="n1", signature=b"AAAA")
            case "the key that asks for nonces":
                seed = LinkKey(new_seed())
                seed.public = secrets.challenge
                return await self._link(seed, reader="n1")
        user = who.removeprefix("wrong password for ")
        return await self._connect(user, "wrong", class_inbox(GOLD))

    async def _connect(
        self, user: str, password: str, inbox: str = "_INBOX", **more: Any
    ) -> Client:
        errors: list[str] = []
        client = Client()

        async def remember(error: Exception) -> None:
            errors.append(str(error))

        public = more.pop("public", None)
        if public is not None:
            client._public_nkey = public
        await asyncio.wait_for(
            client.connect(
                self.broker.url,
                user=quote(user, safe="") or None,
                password=password or None,
                name=f"test {user}",
                inbox_prefix=inbox,
                allow_reconnect=False,
                error_cb=remember,
                **more,
            ),
            WAIT_S,
        )
        self._clients.append(client)
        self.errors[id(client)] = errors
        return client

    async def _link(
        self,
        key: LinkKey,
        *,
        reader: str,
        owner: str = OWN,
        nonce: str = "",
        signature: bytes = b"",
    ) -> Client:
        def sign(given: str) -> bytes:
            return signature or key.sign(reader=reader, owner=owner, nonce=nonce or given).encode()

        return await self._connect("", "", link_inbox(reader), signature_cb=sign, public=key.public)

    def denied(self, client: Client, verb: str) -> set[str]:
        """Subjects that the server denied the client to `publish` or `subscribe`, in lower case,
        as the client library tells them."""
        errors = [e.lower() for e in self.errors[id(client)]]
        return {e.split('"')[1] for e in errors if "permissions violation" in e and verb in e}

    async def refused(self, who: str) -> bool:
        try:
            await self.come(who)
        except (nats.errors.Error, OSError, TimeoutError):
            return True
        return False

    async def leave(self) -> None:
        for client in self._clients:
            await asyncio.wait_for(client.close(), 2)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(OWN, tmp_path_factory.mktemp(OWN), BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


@pytest_asyncio.fixture
async def scene(broker: Broker) -> AsyncIterator[Scene]:
    admission = Admission(url=broker.url, secrets=broker.secrets, broker=OWN)
    await admission.open()
    scene = Scene(broker, admission)
    await admission.trust({"n1": scene.key.public, "n2": LinkKey(new_seed()).public})
    yield scene
    await scene.leave()
    await admission.close()


async def until(true: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, what()
        await asyncio.sleep(0.01)


async def heard(scene: Scene, client: Client, agent: Client) -> set[str]:
    """What of all that the agent says on every subject reaches a client that listens to all."""
    got: set[str] = set()

    async def keep(message: Any) -> None:
        if message.data == b"a secret":
            got.add(message.subject)

    subscriptions = [
        await client.subscribe(subject, queue, cb=keep)
        for subject in LISTENED
        for queue in ("", "thieves")
    ]
    await processed(client)
    for subject in SPOKEN:
        await agent.publish(subject, b"a secret")
    # What was said is at the client once the server has answered both, and was seen once drained.
    await processed(agent)
    for subscription in subscriptions:
        await subscription.drain()
    return got


async def answered(scene: Scene, client: Client) -> set[str]:
    """Which JetStream requests of all the server takes from a client."""
    requests = questions()
    inbox = client.new_inbox()
    names = list(requests)
    replies: set[str] = set()

    async def keep(message: Any) -> None:
        if message.subject.startswith(inbox):
            replies.add(names[int(message.subject.rsplit(".", 1)[1])])
        else:  # what is fetched of a stream keeps its own subject
            replies.add(f"CONSUMER.MSG.NEXT.{message.reply.split('.')[2]}.kept")

    await client.subscribe(inbox + ".*", cb=keep)
    for number, (subject, body) in enumerate(requests.items()):
        payload = json.dumps(body).encode()
        await client.publish(f"$JS.API.{subject}", payload, reply=f"{inbox}.{number}")
    await processed(client)

    def taken() -> set[str]:
        denied = scene.denied(client, "publish")
        return {name for name in requests if f"$js.api.{name}".lower() not in denied}

    # Each is answered or denied, so nothing is waited for in vain.
    await until(
        lambda: replies >= taken(),
        lambda: f"no answer to {taken() - replies}",
    )
    return taken()


@pytest_asyncio.fixture
async def agent(scene: Scene) -> AsyncIterator[Client]:
    """The agent's own connection, beside streams with a message and a consumer each."""
    agent = await scene.come("agent")
    stream = agent.jetstream()
    for name, subject in STREAMS.items():
        await stream.add_stream(name=name, subjects=[subject], allow_direct=True)
        await stream.publish(subject.replace("*", "x"), b"kept")
        await stream.pull_subscribe(subject, durable="kept", stream=name)
    yield agent
    for name in STREAMS:
        await stream.delete_stream(name)


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("who", HEARS)
async def test_hears_and_asks_what_is_its_own(
    scene: Scene, agent: Client, who: str, mode: str
) -> None:
    await scene.admission.admit(CLASSES, unmanaged=mode)
    if mode == "refuse" and who in ("stranger", "nameless"):
        assert await scene.refused(who)
        return
    client = await scene.come(who)
    assert await heard(scene, client, agent) == HEARS[who]
    assert await answered(scene, client) == MAY_ASK[who]


@pytest.mark.asyncio
@pytest.mark.parametrize("who", MAY_SAY)
async def test_says_what_is_its_own(scene: Scene, agent: Client, who: str) -> None:
    await scene.admission.admit(CLASSES, unmanaged="report")
    client = await scene.come(who)
    subjects = {*SPOKEN, "weir.ask.n1", "weir.interest.n1", "weir.ask.n2"}
    for subject in subjects:
        await client.publish(subject, b"something")
    await processed(client)

    def said() -> set[str]:
        denied = scene.denied(client, "publish")
        return {subject for subject in subjects if subject.lower() not in denied}

    await until(lambda: said() == MAY_SAY[who], lambda: f"{said()}")


WRONG = (
    *(f"wrong password for {user}" for user in (GOLD, FULL, "publisher", "subscriber")),
    *(f"wrong password for {user}" for user in ("agent", "admission")),
    *("wrong password for link", "wrong password for system", "consumer of a full class"),
    *("link of an unknown key", "link with a signature for another broker"),
    *("link with another neighbour's key", "link with a stolen signature"),
    *("link with the public key alone", "the key that asks for nonces"),
)


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("who", WRONG)
async def test_whoever_shows_something_wrong_is_refused(scene: Scene, who: str, mode: str) -> None:
    await scene.admission.admit(CLASSES, unmanaged=mode)
    assert await scene.refused(who)
    assert scene.admission.unmanaged() == ()


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["report", "allow"])
async def test_unmanaged_clients_talk_among_themselves(scene: Scene, mode: str) -> None:
    await scene.admission.admit(CLASSES, unmanaged=mode)
    one, other = await scene.come("stranger"), await scene.come("stranger")

    async def answer(message: Any) -> None:
        await message.respond(b"pong")

    await other.subscribe("own.subject", cb=answer)
    await processed(other)
    reply = await one.request("own.subject", b"ping", timeout=WAIT_S)
    assert reply.data == b"pong"


@pytest.mark.asyncio
async def test_unmanaged_clients_are_named_where_they_are_reported(scene: Scene) -> None:
    await scene.admission.admit(CLASSES, unmanaged="report")
    await scene.come("stranger")
    await until(lambda: scene.admission.unmanaged() == ("test somebody",), lambda: "named")
    await scene.admission.admit(CLASSES, unmanaged="allow")
    assert scene.admission.unmanaged() == ()
    await scene.admission.admit(CLASSES, unmanaged="report")
    assert scene.admission.unmanaged() == ("test somebody",)


@pytest.mark.asyncio
async def test_an_unknown_word_for_unmanaged_clients_refuses_them(scene: Scene) -> None:
    await scene.admission.admit(CLASSES, unmanaged="something newer")
    assert await scene.refused("stranger")


@pytest.mark.asyncio
async def test_what_a_consumer_fetches_is_heard_by_nobody_else(scene: Scene, agent: Client) -> None:
    await scene.admission.admit(CLASSES, unmanaged="report")
    overheard: list[bytes] = []

    async def keep(message: Any) -> None:
        overheard.append(message.data)

    for who in ("publisher", "consumer", "subscriber", "link", "stranger"):
        spy = await scene.come(who)
        for subject in ("_INBOX.>", "_INBOX_silver.>", "*.>", ">"):
            await spy.subscribe(subject, cb=keep)
        await processed(spy)
    reader = await scene.come("other consumer")
    async with consumers_made(scene.broker):
        subscription = await reader.jetstream().pull_subscribe(
            "weir.msg.secrets.*", durable="mine", stream="WEIR_MSG_secrets"
        )
    (message,) = await subscription.fetch(1, timeout=WAIT_S)
    assert message.data == b"kept"
    for client in scene._clients:
        await processed(client)
    assert overheard == []


@pytest.mark.asyncio
async def test_a_link_asks_in_its_own_name_only(scene: Scene, agent: Client) -> None:
    await scene.admission.admit(CLASSES, unmanaged="report")
    answered: list[str] = []

    async def keep(message: Any) -> None:
        answered.append(f"{message.subject} by {message.data.decode()}")

    await agent.subscribe("weir.ask.*", cb=keep)
    await processed(agent)
    for who in ("publisher", "consumer", "subscriber", "stranger", "link"):
        client = await scene.come(who)
        for name in ("n2", "n1"):
            await client.publish(f"weir.ask.{name}", who.encode())
        await processed(client)
    await until(lambda: bool(answered), lambda: "the question comes")
    assert answered == ["weir.ask.n1 by link"]


@pytest.mark.asyncio
async def test_a_link_ends_when_its_key_is_no_longer_in_force(scene: Scene) -> None:
    await scene.admission.admit(CLASSES)
    link = await scene.come("link")
    await until(lambda: scene.admission.links.stale() == (), lambda: "known")
    await until(lambda: bool(scene.admission.links._open), lambda: "the link is known")
    await scene.admission.trust({})
    await until(lambda: link.is_closed, lambda: "the link ends")
    assert await scene.refused("link")
    await scene.admission.trust({"n1": scene.other.public})
    assert await scene.refused("link")
    assert not await scene.refused("link of an unknown key")


@pytest.mark.asyncio
async def test_a_link_found_by_a_restarted_agent_ends_when_it_is_none_any_more(
    scene: Scene,
) -> None:
    link = await scene.come("link")
    await scene.admission.close()
    successor = Admission(url=scene.broker.url, secrets=scene.broker.secrets, broker=OWN)
    await successor.open()
    try:
        await successor.trust({"n1": scene.key.public})
        assert link.is_connected
        await successor.trust({"n2": scene.key.public})
        await until(lambda: link.is_closed, lambda: "the link ends")
    finally:
        await successor.close()


@pytest.mark.asyncio
async def test_links_are_let_in_before_limits_are_known(scene: Scene) -> None:
    assert not await scene.refused("link")
    assert await scene.refused("consumer")
    assert await scene.refused("stranger")
