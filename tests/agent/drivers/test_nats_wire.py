"""The parser gives every frame back, wherever the socket cuts the stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.drivers.nats import names, wire

words = st.text(alphabet="abcXYZ019._-%*", min_size=1, max_size=12).map(str.encode)
payloads = st.binary(max_size=60)
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
        found, control = parser.feed(stream[:size])
        stream = stream[size:]
        lines += control
        for sid, batch in found.items():
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
    found, _ = wire.Parser().feed(seen)
    ((subject, reply, header, body),) = found[1]
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
    quoted = names.token(name)
    assert not set(quoted) & set(". *>/\\\t\r\n!")
    assert names.name_of(quoted) == name
