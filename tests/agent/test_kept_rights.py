"""Readers of kept streams open no other stream, send nothing elsewhere, touch no other reader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest
import pytest_asyncio

from agent.drivers.nats import jetstream
from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.kept_site import FLOWS, STREAMS, Desk, Site, received
from tests.agent.planes import until
from tests.agent.publishing import log_in
from tests.nats_clients import processed
from weir_client import subjects
from weir_client.keeping import MALFORMED, MISSING, SUPERSEDED, line_and_record, lined
from weir_client.subscriber_login import SUBSCRIBER_USER

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

INGRESS = f"weir.in.{subjects.token(FLOWS[0])}"
KEPT = "WEIR_ON_0_0"
FOREIGN = f"WEIR_MSG_{subjects.token(FLOWS[0])}"
MINE, OTHERS = subjects.consumer_of("spy", "a"), subjects.consumer_of("other", "a")
LIFE = "0123456789abcdef"
INBOX = f"{subjects.reader_inbox('spy')}.0123456789"


@pytest_asyncio.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    site = await Site(broker).open()
    try:
        await site.map({FLOWS[0]: STREAMS[0]})
        await site.settle()
        yield site
    finally:
        await site.close()
        broker.kill()


class Spy:
    """A reader that may connect and means no good, beside one that it wishes no good."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.elsewhere: list[bytes] = []
        """What was sent where a reader's requests may have nothing sent."""

    async def open(self) -> Spy:
        broker = self.site.broker
        self.victim = await Desk(broker, "other", FLOWS[0]).open()
        self.publisher = await log_in(broker, "p")
        for number in range(3):
            await self.publisher.jetstream().publish(INGRESS, b"%d" % number)
        await received(self.victim, FLOWS[0], 3)
        self.client = await nats.connect(
            broker.url,
            user=SUBSCRIBER_USER,
            password=broker.secrets.client_key,
            inbox_prefix=subjects.reader_inbox("spy"),
            name="spy",
            error_cb=_ignore,
        )
        self.agent = await self.site.plane.driver._own.connection()
        await asyncio.sleep(0.3)
        for subject in ("nowhere.>", "weir.read.other", "_INBOX.>", f"{subjects.INBOX}.>"):
            self.agent.subscribe(subject, self._hear)
        for subject in (f"{subjects.reader_inbox('other')}.x", "weir.want", INGRESS):
            self.agent.subscribe(subject, self._hear)
        return self

    def _hear(self, frames: list[Any]) -> None:
        self.elsewhere += [b"%b %b" % (subject, payload) for subject, _, _, payload in frames]

    async def close(self) -> None:
        await self.client.close()
        await self.publisher.close()
        await self.victim.close()

    async def request(self, line: Any, record: bytes = b"") -> tuple[dict[str, Any], bytes]:
        data = line if isinstance(line, bytes) else lined(line, record)
        return line_and_record((await self.client.request("weir.read.spy", data, timeout=5)).data)

    async def keep(self) -> None:
        revision = (await self.request({"do": "record"}))[0]["revision"]
        line = {"do": "keep", "life": LIFE, "revision": revision}
        assert (await self.request(line, b"{}"))[0]["revision"] > revision

    async def world(self) -> list[Any]:
        """All that a spy might change: streams, their consumers, records."""
        streams = await jetstream.contents(self.agent)
        consumers = await jetstream.call(self.agent, f"CONSUMER.NAMES.{KEPT}")
        record = await jetstream.last_of(
            self.agent, subjects.READERS_STREAM, subjects.reader_subject("other")
        )
        counts = {name: count for name, (count, _) in streams.items()}
        counts.pop(subjects.READERS_STREAM)
        return [counts, sorted(consumers["consumers"]), record and record[2:]]


@pytest_asyncio.fixture
async def spy(site: Site) -> AsyncIterator[Spy]:
    spy = await Spy(site).open()
    yield spy
    await spy.close()


async def _ignore(_: Exception) -> None:
    """The broker says what it refuses."""


async def test_nothing_of_jetstream_is_open_to_a_reader(spy: Spy) -> None:
    await spy.keep()
    before = await spy.world()
    wide = f"{subjects.KEPT}.>"
    for stream in (KEPT, FOREIGN, "WEIR_INTEREST", "WEIR_COURSES", "WEIR_READERS"):
        config = {"durable_name": MINE, "name": MINE, "ack_policy": "all"}
        pushed = {"stream_name": stream, "config": {**config, "deliver_subject": "nowhere.x"}}
        for subject, body in [
            (f"CONSUMER.CREATE.{stream}", pushed),
            (f"CONSUMER.CREATE.{stream}.{MINE}", pushed),
            (f"CONSUMER.CREATE.{stream}.{MINE}.{wide}", pushed),
            (f"CONSUMER.DURABLE.CREATE.{stream}.{MINE}", pushed),
            (f"CONSUMER.INFO.{stream}.{OTHERS}", {}),
            (f"CONSUMER.DELETE.{stream}.{OTHERS}", {}),
            (f"CONSUMER.MSG.NEXT.{stream}.{OTHERS}", {"batch": 1}),
            (f"CONSUMER.MSG.NEXT.{stream}.{MINE}", {"batch": 1}),
            (f"STREAM.INFO.{stream}", {}),
            (f"STREAM.PURGE.{stream}", {}),
            (f"STREAM.DELETE.{stream}", {}),
            (f"STREAM.MSG.GET.{stream}", {"seq": 1}),
            (f"DIRECT.GET.{stream}", {"seq": 1}),
            (f"DIRECT.GET.{stream}.{subjects.reader_subject('other')}", {}),
        ]:
            data = json.dumps(body).encode() if body else b""
            await spy.client.publish(f"$JS.API.{subject}", data, reply=INBOX)
    heard = await spy.client.subscribe(INBOX)
    await processed(spy.client)
    with pytest.raises(nats.errors.TimeoutError):
        await heard.next_msg(0.5)
    assert await spy.world() == before


async def test_what_jetstream_would_answer_is_not_open_to_a_reader_either(spy: Spy) -> None:
    """An empty message on `$JS.API.STREAM.PURGE.X` purges X, whoever has the server send it."""
    await spy.keep()
    line = {"do": "open", "life": LIFE, "place": [0, 0], "lane": 0, "generation": 1, "start": 1}
    heard = await spy.client.subscribe(INBOX)
    assert (await spy.request({**line, "deliver": INBOX}))[0]["last"] > 0
    message = await heard.next_msg(5)
    assert message.reply.startswith(f"$JS.ACK.{KEPT}.{MINE}.")
    before = await spy.world()
    control = f"$JS.FC.{KEPT}.{MINE}.abcdef"
    victims = message.reply.replace(MINE, OTHERS), control.replace(MINE, OTHERS)
    for reply in (f"$JS.API.STREAM.PURGE.{FOREIGN}", f"$JS.API.STREAM.DELETE.{KEPT}", "nowhere.x"):
        for subject in (message.reply, control, *victims):
            for data in (b"+ACK", b"", b"-NAK", b"+TERM", b"+WPI", b'+NXT {"batch": 9}', b"+NXT"):
                await spy.client.publish(subject, data, reply=reply)
        for subject in ("weir.reader.spy", "weir.reader.other", "weir.read.other"):
            await spy.client.publish(subject, lined({"do": "record"}), reply=reply)
        for subject in ("weir.read.spy", "weir.course", "weir.place", "weir.carry"):
            await spy.client.publish(subject, lined({"do": "record"}), reply=reply)
    # The reply subject of another one's requests is not open for answers.
    theirs = f"{subjects.reader_inbox('other')}.x"
    await spy.client.publish("weir.read.spy", lined({"do": "record"}), reply=theirs)
    await processed(spy.client)
    await asyncio.sleep(0.5)
    assert await spy.world() == before
    assert not spy.elsewhere
    info = await jetstream.call(spy.agent, f"CONSUMER.INFO.{KEPT}.{MINE}")
    assert info["ack_floor"]["consumer_seq"] == 0
    await spy.publisher.jetstream().publish(INGRESS, b"3")
    await received(spy.victim, FLOWS[0], 4)


async def test_nobody_hears_what_another_reader_is_sent(spy: Spy) -> None:
    heard = []

    async def hear(message: Any) -> None:
        heard.append(message)

    for subject in (">", "_WEIR.>", f"{subjects.READER_INBOX}.>", f"{subjects.READER_INBOX}.*.*"):
        await spy.client.subscribe(subject, cb=hear)
    await spy.client.subscribe(f"{subjects.reader_inbox('other')}.>", cb=hear)
    await spy.client.subscribe(f"{subjects.INBOX}.>", cb=hear)
    await processed(spy.client)
    await spy.publisher.jetstream().publish(INGRESS, b"3")
    await received(spy.victim, FLOWS[0], 4)
    await asyncio.sleep(1.5)
    assert not heard


OPEN: dict[str, Any] = {
    "do": "open",
    "life": LIFE,
    "place": [0, 0],
    "lane": 0,
    "generation": 1,
    "start": 1,
    "deliver": INBOX,
}
ODD: list[Any] = [
    *(None, True, False, "1", 1.0, 0.5, [], {}, [1], -1, 2**63, 2**64, 10**400, "0", float("inf"))
]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("do", [*ODD, "OPEN", "open ", "delete", ""]),
        ("life", [*ODD, "", "x" * 16, "a" * 65, LIFE.upper(), f"{LIFE}\n", "\ud800"]),
        ("place", [*ODD, [0], [0, 0, 0], [0, "0"], [True, 0], [-1, 0], [0, 2**32], [0, 1.0]]),
        ("place", [["0_0 WEIR", 0], "00", {"0": 0, "1": 0}, [[0], 0]]),
        ("lane", [*ODD[:1], *ODD[3:9], 2, True, "a", 10**400]),
        ("generation", [*ODD, 0]),
        ("start", [*ODD, 0]),
        (
            "deliver",
            [
                *ODD,
                "nowhere.x",
                INGRESS,
                "$JS.API.STREAM.PURGE.X",
                f"$JS.API.STREAM.DELETE.{FOREIGN}",
                subjects.reader_inbox("spy"),
                f"{subjects.reader_inbox('spy')}.",
                f"{subjects.reader_inbox('spy')}.>",
                f"{subjects.reader_inbox('spy')}.*",
                f"{subjects.reader_inbox('spy')}.12345678.*",
                f"{subjects.reader_inbox('spy')}.1234567 8",
                f"{subjects.reader_inbox('spy')}.12345678\r\nPUB x 0",
                f"{subjects.reader_inbox('spy')}.12345678\n",
                f"{subjects.reader_inbox('spy')}x.12345678",
                f"{subjects.reader_inbox('other')}.12345678",
                f"{subjects.reader_inbox('*')}.12345678",
                f"{subjects.INBOX}.12345678",
                "_INBOX.12345678",
                f"{subjects.reader_inbox('spy')}." + 9 * "\u0661",
                f"{subjects.reader_inbox('spy')}.{'a' * 65}",
            ],
        ),
    ],
)
async def test_an_odd_request_is_refused_and_the_agent_goes_on(
    spy: Spy, name: str, values: list[Any]
) -> None:
    await spy.keep()
    before = await spy.world()
    for value in values:
        answer, _ = await spy.request({**OPEN, name: value})
        assert answer == {"error": MALFORMED}, value
    without = {key: value for key, value in OPEN.items() if key != name}
    assert (await spy.request(without))[0] == {"error": MALFORMED}
    assert not spy.elsewhere
    assert await spy.world() == before
    assert "last" in (await spy.request(OPEN))[0]
    assert not spy.site.plane.driver._kept.problems


async def test_what_is_no_request_is_refused_and_the_agent_goes_on(spy: Spy) -> None:
    await spy.keep()
    deep = b'{"do": "open", "place": ' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    for data in (
        *(b"", b"\n", b"[]", b"1", b"null", b"{", b"\xff\xfe{", b"{}", b'"do"', deep),
        *(b"[" * 8_000, b'{"do": ' + b"9" * 8_000 + b"}", b" " * 900_000, b"[" * 900_000),
    ):
        assert (await spy.request(data))[0] == {"error": MALFORMED}, data[:50]
    rows: list[Any] = [
        *(None, {}, "x", [1], [[0]], [[0, 0, 0, 1, 1]], [[0, 0, 0, 1, 1, True]]),
        *([[0, 0, 0, 1, -1, 1]], [[0, 0, 2, 1, 1, 1]], [[0, 0, 0, 1, 1, 2**63]]),
        *([[0, "0", 0, 1, 1, 1]], [[0, 0, 0, 1, 1, 1]] * 51),
    ]
    for streams in rows:
        answer, _ = await spy.request({"do": "acknowledge", "streams": streams})
        assert answer == {"error": MALFORMED}, streams
    for line in (
        *({**OPEN, "do": "acknowledged", "place": [0]}, {**OPEN, "do": "remove", "lane": "a"}),
        *({**OPEN, "do": "keep", "revision": -1}, {**OPEN, "do": "keep", "revision": True}),
        {**OPEN, "do": "keep", "revision": 0, "life": "a\n{}"},
    ):
        assert (await spy.request(line))[0] == {"error": MALFORMED}, line
    assert "last" in (await spy.request(OPEN))[0]


async def test_a_record_that_is_no_json_or_too_large_is_its_readers_own_trouble(spy: Spy) -> None:
    most = spy.client.max_payload
    line = {"do": "keep", "life": LIFE, "revision": 0}
    room = most - len(lined(line))
    answer, _ = await spy.request(line, b"x" * room)
    assert "too large" in answer["error"]
    record = b"[" * 500_000 + b"\n\xff"
    revision = (await spy.request(line, record))[0]["revision"]
    assert await spy.request({"do": "record"}) == ({"revision": revision, "life": LIFE}, record)
    assert "last" in (await spy.request(OPEN))[0]
    # The largest record that is kept can be read again.
    line["revision"] = revision
    for size in range(room - 200, room):
        answer, _ = await spy.request(line, b"x" * size)
        if "error" in answer:
            break
        line["revision"] = answer["revision"]
        assert len((await spy.request({"do": "record"}))[1]) == size
    assert "too large" in answer["error"]


async def test_only_the_life_that_has_the_record_opens_streams(spy: Spy) -> None:
    assert (await spy.request(OPEN))[0] == {"error": SUPERSEDED}
    await spy.keep()
    assert (await spy.request({**OPEN, "life": LIFE[::-1]}))[0] == {"error": SUPERSEDED}
    assert (await spy.request({**OPEN, "place": [7, 7]}))[0] == {"error": MISSING}
    assert "last" in (await spy.request(OPEN))[0]
    for lane in (1, 0, 0, 1):
        answer, _ = await spy.request({**OPEN, "lane": lane, "generation": 2 + lane})
        assert "last" in answer
        names = await jetstream.call(spy.agent, f"CONSUMER.NAMES.{KEPT}")
        mine = [name for name in names["consumers"] if name.startswith("reader-spy-")]
        assert mine == [subjects.consumer_of("spy", subjects.LANES[lane])]
    same = {"place": [0, 0], "lane": 1}
    for generation, is_there in ((2, True), (3, False)):
        assert (await spy.request({"do": "remove", **same, "generation": generation}))[0] == {}
        names = await jetstream.call(spy.agent, f"CONSUMER.NAMES.{KEPT}")
        assert (subjects.consumer_of("spy", "b") in names["consumers"]) is is_there


async def test_what_is_acknowledged_is_of_the_consumer_that_it_names(spy: Spy) -> None:
    await spy.keep()
    heard = await spy.client.subscribe(INBOX)
    await spy.request(OPEN)
    sequences = [(await heard.next_msg(5)).metadata.sequence for _ in range(3)]
    before, last = sequences[0].stream - 1, sequences[-1]
    here = {"place": [0, 0], "lane": 0}

    async def floor(generation: int) -> int:
        answer, _ = await spy.request({"do": "acknowledged", **here, "generation": generation})
        return int(answer["number"])

    for generation, expected in ((2, before), (1, last.stream)):
        row = [0, 0, 0, generation, last.stream, last.consumer]
        away = [9, 9, 0, generation, 1, 1]
        answer, _ = await spy.request({"do": "acknowledge", "streams": [row, away]})
        assert answer["kept"] == [True, True]
        assert await floor(1) == expected
        assert await floor(2) == 0
    # An agent that comes later knows by which number its predecessor has made it.
    spy.site.plane.driver._kept._readers._requests._known.clear()
    await spy.request({"do": "acknowledge", "streams": [[0, 0, 0, 2, 2**62, 9]]})
    assert await floor(1) == last.stream


async def test_a_reader_that_floods_the_agent_does_not_hold_up_others(spy: Spy) -> None:
    is_over = asyncio.Event()

    async def flood() -> None:
        while not is_over.is_set():
            for _ in range(50):
                await spy.client.publish("weir.read.spy", lined(OPEN) + b" " * 50_000, reply=INBOX)
            await spy.client.flush()

    flooding = asyncio.create_task(flood())
    try:
        requests = spy.site.plane.driver._kept._readers._requests
        await until(lambda: len(requests._waiting.get("spy", ())) >= 16, "requests wait", 10)
        other = await Desk(spy.site.broker, "third", FLOWS[0]).open()
        await received(other, FLOWS[0], 3)
        await other.close()
        assert requests._bytes < 10_000_000
    finally:
        is_over.set()
        await flooding
