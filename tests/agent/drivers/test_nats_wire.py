"""The parser gives every frame back, wherever the socket cuts the stream."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.drivers.base import Source
from agent.drivers.nats import names, streams, wire
from agent.drivers.nats.server_clock import ServerClock
from agent.drivers.nats.stream_reader import Read, Stored
from agent.drivers.nats.stream_writer import position_of
from agent.drivers.nats.streams import Lives
from weir.coordination.wire import Delivery, token

words = st.text(alphabet="abcXYZ019._-%*", min_size=1, max_size=12).map(str.encode)
payloads = st.binary(max_size=60)
PIECES = (
    b"MSG a 1 ",
    b"HMSG a 1 r ",
    b"-3",
    b"5",
    b"0",
    b"\r\n",
    b" ",
    b"PING",
    b"MSG a 1 -20\r\n",
)
headers = st.lists(payloads.filter(lambda b: b"\r" not in b and b"\n" not in b), max_size=3)


@st.composite
def frames(draw):
    """A frame and its bytes as a server writes them."""
    subject, payload = draw(words), draw(payloads)
    sid = draw(st.integers(1, 3))
    reply = draw(st.sampled_from([b"", b"_INBOX.a.1"]))
    middle = b" " + reply if reply else b""
    if draw(st.booleans()):
        block = b"NATS/1.0\r\n" + b"".join(b"h: " + h + b"\r\n" for h in draw(headers)) + b"\r\n"
        text = b"HMSG %b %d%b %d %d\r\n%b%b\r\n" % (
            subject,
            sid,
            middle,
            len(block),
            len(block) + len(payload),
            block,
            payload,
        )
        return sid, (subject, reply, block, payload), text
    text = b"MSG %b %d%b %d\r\n%b\r\n" % (subject, sid, middle, len(payload), payload)
    return sid, (subject, reply, b"", payload), text


@given(st.lists(frames(), max_size=12), st.data())
def test_gives_back_every_frame_wherever_the_stream_is_cut(sent, data):
    stream = b"PING\r\n".join(text for _, _, text in sent) + b"+OK\r\n"
    parser = wire.Parser()
    got: dict[int, list[wire.Frame]] = {}
    lines: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        batches, control = parser.feed(stream[:size])
        stream = stream[size:]
        lines += control
        for sid, batch in batches.items():
            got.setdefault(sid, []).extend(batch)
    for sid in (1, 2, 3):
        assert got.get(sid, []) == [frame for s, frame, _ in sent if s == sid]
    assert lines == [b"PING"] * (len(sent) - 1) + [b"+OK"]


@pytest.mark.parametrize("text", [b"MSG a x 3\r\nabc\r\n", b"MSG a\r\n", b"HMSG a 1 b c\r\n"])
def test_refuses_what_is_no_message(text):
    with pytest.raises(wire.ProtocolViolation):
        wire.Parser().feed(text)


@given(payloads, headers)
def test_reads_back_what_it_writes(payload, values):
    block = wire.header_block({b"Key-%d" % i: value for i, value in enumerate(values)})
    text = wire.publication(b"a.b", payload, reply=b"r", header=block if values else b"")
    seen = text.replace(b"HPUB a.b r", b"HMSG a.b 1 r").replace(b"PUB a.b r", b"MSG a.b 1 r", 1)
    frames, _ = wire.Parser().feed(seen)
    ((subject, reply, header, body),) = frames[1]
    assert (subject, reply, body) == (b"a.b", b"r", payload)
    for i, value in enumerate(values):
        assert wire.header_value(header, b"Key-%d" % i) == value.strip()
    assert wire.header_value(header, b"Key") == b""


def test_tells_a_status_from_a_message():
    assert wire.status(b"NATS/1.0 503\r\n\r\n") == 503
    assert wire.status(b"NATS/1.0 404 No Messages\r\n\r\n") == 404
    assert wire.status(b"NATS/1.0\r\nA: b\r\n\r\n") == 0
    assert wire.status(b"") == 0


@given(st.text(min_size=1))
def test_any_name_is_one_token_of_a_subject_and_comes_back(name):
    quoted = token(name)
    assert not set(quoted) & set(". *>/\\\t\r\n!")
    assert names.name_of(quoted) == name


@given(st.lists(st.binary(max_size=40) | st.sampled_from(PIECES), max_size=20))
def test_whatever_comes_is_cut_or_refused(pieces):
    """Nothing but ProtocolViolation, and no endless loop: the bytes are another program's."""
    parser = wire.Parser()
    try:
        for piece in pieces:
            parser.feed(piece)
    except wire.ProtocolViolation:
        return


@given(st.binary(max_size=200) | st.builds(b"NATS/1.0\r\n".__add__, st.binary(max_size=200)))
def test_whatever_headers_a_message_has_it_keeps_its_identity(header):
    source = Source(delivery=Delivery.RELIABLE, flow="f")
    read = Read([Stored(7, b"weir.in.f", header, b"payload", 5)], "2026", "server", 0)
    lives = Lives(_nobody_knows, asyncio.Lock())
    (batch,) = streams.ingress_messages("f", "a", read, source, lives, ServerClock())
    (message,) = batch.messages
    assert (message.origin, message.position, message.payload) == ("a-2026", 7, b"payload")
    # As the next agent reads it: appended with headers of an append before it.
    block = b"NATS/1.0\r\nNats-Expected-Last-Sequence: 0\r\n" + message.headers + b"\r\n"
    subject = b"weir.to.b.f.a-2026"
    cutter = streams.OutboxMessages(Source(delivery=Delivery.RELIABLE, neighbour="a"))
    (batch,) = cutter.batches(Read([Stored(1, subject, block, b"payload", 5)], "", "server", 0))
    assert (batch.messages[0].position, batch.messages[0].headers) == (7, message.headers)
    assert position_of(block) == 7
    assert not cutter.unreadable


@given(st.binary(max_size=200), st.binary(max_size=30))
def test_whatever_stands_in_an_outbox_is_read_or_named(header, word):
    cutter = streams.OutboxMessages(Source(delivery=Delivery.RELIABLE, neighbour="a"))
    subject = b"weir.to.b." + word.replace(b".", b"") + b".x"
    batches = cutter.batches(Read([Stored(1, subject, header, b"p", 5)], "", "server", 0))
    assert len(batches) + len(cutter.unreadable) == 1


async def _nobody_knows(_):
    return None
