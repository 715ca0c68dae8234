"""Bounds of names: exactly those that fit into the names of streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.drivers.nats import names
from weir.coordination.wire import STREAM_NAME_BYTES, broker_too_long, reliable_flow_too_long, token

CJK = "\u677f"  # three bytes of UTF-8, nine characters of a token


@pytest.mark.parametrize(
    ("name", "size"),
    [("a" * 200, 200), ("." * 82, 246), (CJK * 27, 243), (CJK * 27 + "abc", 246)],
)
def test_a_name_up_to_the_bound_is_taken(name: str, size: int) -> None:
    assert len(token(name)) == size
    assert reliable_flow_too_long(name) == ""


@pytest.mark.parametrize("name", ["." * 83, CJK * 27 + "abcd", CJK * 28])
def test_a_longer_name_is_refused_with_its_size(name: str) -> None:
    why = reliable_flow_too_long(name)
    assert f"takes {len(token(name))} bytes" in why
    assert "246 at most" in why


@given(st.text(max_size=100))
def test_every_stream_of_a_name_that_is_taken_fits(name: str) -> None:
    of_flow = [len(names.ingress_stream(name)), len(names.delivery_stream(name))]
    assert (reliable_flow_too_long(name) == "") == (max(of_flow) <= STREAM_NAME_BYTES)
    assert (broker_too_long(name) == "") == (len(names.outbox_stream(name)) <= STREAM_NAME_BYTES)
