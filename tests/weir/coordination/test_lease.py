"""Incarnations and leases."""

import pytest

from weir.coordination.lease import Fenced, Lease


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
