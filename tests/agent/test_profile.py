"""What messages waited since a part of a bucket was set, and what of that the part explains."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.agent.gated_broker import FLOWS, GatedBroker
from weir.coordination.wire import Bucket

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 90
SLOW = Bucket(rate_per_s=50.0, size=2.0)
PART = Bucket(rate_per_s=200.0, size=3.0)
BURST = 61
LAST_S = (BURST - PART.size) / PART.rate_per_s
"""What the part holds the last message of a burst that finds it full."""
CLOCKS_S = 0.01
SLICE_S = 0.05
"""Longer than the agent takes for a message on a busy machine, shorter than what the part holds."""


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_a_profile_counts_what_arrived_since_and_says_what_the_part_explains(
    gated: GatedBroker, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        await gated.set(**{flow: SLOW})
        assert gated.profile(flow).keys() <= {
            *("profile_s", "profile_messages", "profile_rate_per_s", "profile_size"),
        }
        await gated.publish(flow, 30)
        await gated.wait_held(flow)
        await asyncio.sleep(0.1)
        await gated.set(**{flow: PART})
        # Those who come while some of before still wait, wait for the tokens that these take.
        await gated.publish(flow, 5)
        await asyncio.sleep(0.1)
        await gated.wait_passed(flow, 35)
        await asyncio.sleep(0.1)
        since = time.monotonic()
        assert gated.profile(flow)["profile_messages"] == 0, "they came before the part was set"
        for number in range(1, 4):
            await gated.publish(flow, BURST)
            await gated.wait_passed(flow, 35 + number * BURST)
            await asyncio.sleep(0.1)
        known = gated.profile(flow)
        assert known["profile_messages"] == 3 * BURST
        assert known["profile_s"] == pytest.approx(time.monotonic() - since, abs=0.5)
        assert (known["profile_rate_per_s"], known["profile_size"]) == (200.0, 3.0)
        assert LAST_S - CLOCKS_S - 0.02 <= known["profile_p99_s"] <= LAST_S + SLICE_S
        assert known["profile_mean_s"] > 0.3 * LAST_S
        assert known["profile_own_p99_s"] <= SLICE_S < 0.5 * known["profile_p99_s"]
        assert known["profile_p99_low_s"] == 0.0, "far too few"
        assert "profile_p99_high_s" not in known

        await gated.set(**{flow: PART})
        assert gated.profile(flow)["profile_messages"] == 3 * BURST, "what stays goes on"
        await gated.set(**{flow: Bucket(rate_per_s=200.0, size=4.0)})
        assert gated.profile(flow)["profile_messages"] == 0
        await gated.set(**{flow: Bucket(rate_per_s=200.0, size=4.0, count_only=True)})
        assert gated.profile(flow) == {}, "nothing is enforced"
        await gated.set()
        assert gated.profile(flow) == {}


@pytest.mark.parametrize("flow", list(FLOWS))
async def test_what_arrives_in_a_pause_is_left_out_and_who_waits_behind_it(
    gated: GatedBroker, flow: str
) -> None:
    async with asyncio.timeout(LIMIT_S):
        await gated.set(**{flow: PART})
        await gated.publish(flow, 1)
        await gated.wait_passed(flow, 1)
        gated.plane.router.pause(frozenset())
        await gated.publish(flow, BURST)
        await asyncio.sleep(0.5)
        gated.plane.router.resume()
        await asyncio.sleep(0.05)
        # They wait behind those of the pause, for tokens: 0.2 s later these are gone.
        await gated.publish(flow, 5)
        await gated.wait_passed(flow, BURST + 6)
        assert gated.profile(flow)["profile_messages"] == 1
        await asyncio.sleep(0.1)
        await gated.publish(flow, 2)
        await gated.wait_passed(flow, BURST + 8)
        known = gated.profile(flow)
        assert known["profile_messages"] == 3
        assert known["profile_p99_s"] <= SLICE_S


async def test_who_waits_behind_others_for_long_is_counted_in_the_end(
    gated: GatedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More is sent than the part lets through: nobody ever finds a token again."""
    monkeypatch.setattr("agent.profile.PATIENCE_S", 2.0)
    async with asyncio.timeout(LIMIT_S):
        await gated.set(core=SLOW)
        await gated.publish("core", 300)
        await gated.wait_held("core")
        await gated.set(core=Bucket(rate_per_s=60.0, size=2.0))
        await gated.publish("core", 5)
        await asyncio.sleep(2.5)
        await gated.publish("core", 5)
        await gated.wait_passed("core", 310)
        known = gated.profile("core")
        assert known["profile_messages"] == 5
        assert known["profile_p99_s"] > 0.1, "they waited behind those of before"


async def test_a_gate_without_a_part_has_no_profile(gated: GatedBroker) -> None:
    async with asyncio.timeout(LIMIT_S):
        await gated.set()
        assert PART.gate is not None
        gated.plane.router.flows.set_gate("core", PART.gate)
        await gated.publish("core", 5)
        await gated.wait_passed("core", 5)
        assert gated.profile("core") == {}
