"""The one-second rate controller on running brokers."""

import time
from typing import Any

import pytest

from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e

MOVED = 0.01
"""A gate whose rate differs by more from what was approved has been moved by the controller."""


def test_rates_move_within_their_band_and_snap_back(fleet: Fleet) -> None:
    fleet.shake()
    fleet.wait_execution(fleet.execute(fleet.approved_plan()), "succeeded")
    fleet.wait_rates()
    approved = fleet.gates()

    fleet.policy(rate_control=True, rate_control_band=0.2)
    try:
        moved = _watch(fleet, approved, seconds=60.0)
        assert moved, "no agent was asked for another rate in 60 s"
        status = fleet.flow_status()
        for flow, rate in approved.items():
            assert status[flow]["in_force_per_s"] == pytest.approx(rate)
            assert status[flow]["passed_per_s"] is not None
        # What the controller asks for is what the brokers let through, not only what agents say.
        flow = max(moved, key=lambda name: abs(moved[name] / approved[name] - 1))
        passed = fleet.measured()[flow][1]
        assert 0.7 * approved[flow] < passed < 1.3 * approved[flow]
    finally:
        fleet.policy(rate_control=False)

    deadline = time.monotonic() + 60.0
    while fleet.gates() != approved:
        assert time.monotonic() < deadline, "the approved rates did not come back"
        time.sleep(0.5)
    assert all(row["controlled_per_s"] is None for row in fleet.flow_status().values())


def _watch(fleet: Fleet, approved: dict[str, float], *, seconds: float) -> dict[str, Any]:
    """The gates that agents have moved, once any has; each always in its band."""
    moved: dict[str, float] = {}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not moved:
        for flow, rate in fleet.gates().items():
            assert 0.8 * approved[flow] - 1e-6 <= rate <= 1.2 * approved[flow] + 1e-6, flow
            if abs(rate / approved[flow] - 1) > MOVED:
                moved[flow] = rate
        time.sleep(0.5)
    return moved
