"""What a frame holds comes back, and whatever a broker brings is a frame or a ValueError."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.suites import effort
from weir_client import subjects
from weir_client.frames import (
    Answer,
    Frame,
    Kind,
    Place,
    Reply,
    frame_from_bytes,
    frame_to_bytes,
    reply_from_bytes,
    reply_to_bytes,
)

CLIENT = settings(max_examples=effort(150, 20_000), deadline=None)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
PLACES = st.builds(Place, U32, U32)
FRAMES = st.builds(
    Frame,
    kind=st.sampled_from(Kind),
    flow=NAMES,
    sender=NAMES,
    life=U64,
    move=U32,
    number=U64,
    place=PLACES,
    payload=st.binary(max_size=100),
)
REPLIES = st.builds(
    Reply,
    answer=st.sampled_from(Answer),
    flow=NAMES,
    sender=NAMES,
    life=U64,
    move=U32,
    receiver=NAMES,
)


@CLIENT
@given(FRAMES)
def test_a_frame_comes_back_as_it_was_written(frame):
    assert frame_from_bytes(frame_to_bytes(frame)) == frame


@CLIENT
@given(REPLIES)
def test_a_reply_comes_back_as_it_was_written(reply):
    assert reply_from_bytes(reply_to_bytes(reply)) == reply


@CLIENT
@given(st.data())
def test_bytes_are_what_was_written_or_a_value_error(data):
    """Random ones, and those that differ a little from a good one: these come further in."""
    written = data.draw(st.one_of(FRAMES.map(frame_to_bytes), REPLIES.map(reply_to_bytes)))
    packet = bytearray(written)
    for _ in range(data.draw(st.integers(0, 3))):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(packet[: data.draw(st.integers(0, len(packet)))])
    for each in (bytes(packet), cut, data.draw(st.binary(max_size=80))):
        with contextlib.suppress(ValueError):
            assert frame_to_bytes(frame_from_bytes(each)) == each
        with contextlib.suppress(ValueError):
            assert reply_to_bytes(reply_from_bytes(each)) == each


def frame(**values) -> Frame:
    written = {"kind": Kind.DATA, "flow": "f", "sender": "s", "life": 1, "move": 0, "number": 1}
    return Frame(**{**written, "place": Place(0, 0), **values})


def test_what_is_wrong_with_a_packet_raises_value_error():
    good = frame_to_bytes(frame())
    for wrong in (
        b"",
        good[:-1],
        b"\x02" + good[1:],  # another version
        good[:1] + b"\x05" + good[2:],  # an unknown kind
        good[:-1] + b"\xff",  # a name that is no UTF-8
    ):
        with pytest.raises(ValueError, match=r"frame|Kind|utf-8"):
            frame_from_bytes(wrong)
    answer = reply_to_bytes(Reply(Answer.READY, "f", "s", 1, 0, "r"))
    for wrong in (b"", answer + b"x", answer[:1] + b"\x09" + answer[2:], answer[:-1] + b"\xc3"):
        with pytest.raises(ValueError, match=r"reply|Answer|utf-8"):
            reply_from_bytes(wrong)


@pytest.mark.parametrize(
    "values",
    [
        {"flow": "f" * 65_536},
        {"sender": "é" * 32_768},
        {"life": 2**64},
        {"number": -1},
        {"place": Place(2**32, 0)},
        {"flow": "\ud800"},
    ],
)
def test_what_fits_in_no_packet_raises_value_error(values):
    with pytest.raises(ValueError, match=r"at most|does not fit|surrogates"):
        frame_to_bytes(frame(**values))


def test_the_longest_names_come_back():
    longest = frame(flow="f" * 65_535, sender="s" * 65_535, payload=b"\x00")
    assert frame_from_bytes(frame_to_bytes(longest)) == longest


@CLIENT
@given(PLACES, NAMES.filter(bool))
def test_a_subject_names_its_stream_and_its_flow(place, flow):
    subject = subjects.frame_subject(place, flow)
    assert subject.count(".") == 4
    assert not set(subject) & set("*> \r\n\t")
    assert subjects.place_of(subject) == place
    assert subjects.flow_of(subject) == flow


@pytest.mark.parametrize(
    "subject",
    [
        "weir.on.1.2",
        "weir.on.1.2.f.g",
        "weir.on.1.-2.f",
        "weir.on.1.+2.f",
        "weir.on.1.1_0.f",
        "weir.on.1.\u0662.f",
        "weir.on..2.f",
        "weir.on.4294967296.2.f",
        "weir.msg.1.2.f",
        "",
    ],
)
def test_a_subject_of_another_form_names_no_stream(subject):
    with pytest.raises(ValueError, match="no subject of a stream"):
        subjects.place_of(subject)


@CLIENT
@given(st.text("0129-._f\u0662", max_size=20).map(lambda text: "weir.on." + text))
def test_any_subject_names_a_stream_or_raises_value_error(subject):
    with contextlib.suppress(ValueError):
        assert subjects.place_of(subject) is not None
