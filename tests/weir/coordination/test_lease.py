"""Incarnations and leases, on both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.coordination.lease import Fenced, HeldLease, Lease

TIMES = st.floats(0, 1e6, allow_nan=False)


def test_every_session_fences_the_one_before() -> None:
    lease = Lease().opened(0.0, 10.0).opened(1.0, 10.0)
    with pytest.raises(Fenced, match="session 1 has been replaced by session 2"):
        lease.renewed(1, 2.0, 10.0)
    assert lease.renewed(2, 2.0, 10.0).until == 12.0


def test_a_session_that_was_never_opened_is_refused() -> None:
    with pytest.raises(Fenced, match="session 1 was never opened"):
        Lease().check(1)


def test_is_live_until_the_lease_has_run_out() -> None:
    lease = Lease().opened(0.0, 10.0)
    assert not Lease().live(0.0)
    assert lease.live(9.9)
    assert not lease.live(10.0)


def test_a_fenced_holder_never_acts_again() -> None:
    held = HeldLease.granted(1, 0.0, 10.0).lost().renewed(5.0, 10.0)
    assert not held.may_begin(6.0)


@given(st.lists(st.tuples(TIMES, st.floats(0, 5, allow_nan=False)), min_size=1, max_size=10))
def test_the_holder_gives_up_before_the_grantor_does(requests: list[tuple[float, float]]) -> None:
    """Whatever the delays of the answers: while the holder may act, the grantor counts on it."""
    sent = sorted(requests)
    lease = Lease().opened(sent[0][0] + sent[0][1], 10.0)
    held = HeldLease.granted(1, sent[0][0], 10.0)
    for sent_at, delay in sent[1:]:
        lease = lease.renewed(1, sent_at + delay, 10.0)
        held = held.renewed(sent_at, 10.0)
    assert lease.until is not None
    assert held.until <= lease.until
