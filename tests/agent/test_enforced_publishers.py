"""Parts of buckets and lists of publishers on a virtual broker: when they are in force."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from agent.drivers.base import Stats
from tests.agent.enforcing import FULL, GATE, Here, document
from tests.agent.planes import until
from weir.coordination.wire import Bucket, Delivery, FlowSpec, Gate, Publishers, publishers_digest

pytestmark = pytest.mark.asyncio

PART = Bucket(rate_per_s=4.0, size=0.5)
CLOSED = Bucket(rate_per_s=0.0, size=0.0)
ENTERS = {"f": FlowSpec(delivery=Delivery.RELIABLE, ingress=True)}


async def buckets(here: Here) -> Mapping[str, Bucket]:
    return here.enforcer.observed(await here.driver.stats()).buckets


async def test_a_part_of_a_bucket_takes_the_place_of_the_gate(here: Here) -> None:
    assert await here.apply(FULL)
    assert await here.apply(replace(FULL, version="v2", buckets={"f": PART}))
    assert await buckets(here) == {"f": PART}
    assert here.router.flows.gates == {"f": Gate(rate_per_s=4.0, burst=0.5)}
    assert await here.apply(replace(FULL, version="v3"))
    assert await buckets(here) == {}
    assert here.router.flows.gates == {"f": GATE}


async def test_a_part_that_is_only_counted_holds_nothing(here: Here) -> None:
    counted = replace(PART, count_only=True)
    assert await here.apply(replace(FULL, buckets={"f": counted}))
    assert await buckets(here) == {"f": counted}
    assert here.router.flows.gates == {"f": GATE}
    ungated = document("v2", flows=ENTERS, buckets={"f": counted})
    assert await here.apply(ungated)
    assert here.router.flows.gates == {}
    here.broker.publish("f", Delivery.RELIABLE, [b"1", b"2", b"3"])
    async with asyncio.timeout(60):
        while (counting := here.router.counters().counting["f"]).messages < 3:
            await asyncio.sleep(0.01)
    # Half a token for the first, and a whole one more for each after it.
    assert counting.held == 3
    assert counting.longest_s > 0.5
    assert await here.apply(replace(ungated, version="v3", number=7))
    assert here.router.counters().counting["f"] is counting, "what stays goes on counting"
    assert await here.apply(replace(ungated, version="v4", buckets={"f": PART}))
    assert here.router.counters().counting == {}


async def test_a_part_of_nothing_is_in_force_once_nothing_enters(here: Here) -> None:
    assert await here.apply(document(flows=ENTERS))
    assert "f" in here.router.flows.ingress
    elsewhere = {"f": FlowSpec(delivery=Delivery.RELIABLE)}
    assert await here.apply(document("v2", flows=elsewhere, buckets={"f": CLOSED}))
    assert await buckets(here) == {"f": CLOSED}
    assert "f" not in here.router.flows.ingress


async def test_a_part_at_a_broker_where_the_flow_does_not_enter_is_not_in_force(
    here: Here,
) -> None:
    assert await here.apply(document(flows={"f": FlowSpec()}, buckets={"f": PART}))
    assert await buckets(here) == {}


def lists(**here: str) -> dict[str, Publishers]:
    return {flow: Publishers(here=tuple(names)) for flow, names in here.items()}


async def in_force(here: Here, flow: str) -> str:
    async with asyncio.timeout(60):
        while not (digest := here.enforcer.observed(Stats()).publishers.get(flow, "")):
            await asyncio.sleep(0.01)
    return digest


async def test_publishers_leave_before_a_flow_opens_and_come_after_it_has(here: Here) -> None:
    await here.apply(document(publishers=lists(f="pq", g="p")))
    flows = {"f": FlowSpec(ingress=True), "g": FlowSpec(ingress=True)}
    here.driver.made.clear()
    assert await here.apply(document("v2", flows=flows, publishers=lists(f="qr", g="")))
    first, shrunk, grown = here.driver.lists
    assert first == {"f": ("p", "q"), "g": ("p",)}
    assert shrunk == {"f": ("q",), "g": ()}
    assert grown == {"f": ("q", "r"), "g": ()}
    assert here.driver.made_by_then[1:] == [set(), {"f", "g"}]


async def test_a_flow_whose_ingress_cannot_be_made_takes_no_more_publishers(here: Here) -> None:
    await here.apply(document(publishers=lists(f="p", g="p")))
    here.driver.too_long = frozenset("f")
    flows = {"f": FlowSpec(ingress=True), "g": FlowSpec(ingress=True)}
    assert not await here.apply(document("v2", flows=flows, publishers=lists(f="pq", g="pq")))
    assert here.driver.lists[-1] == {"f": ("p",), "g": ("p", "q")}
    here.driver.too_long = frozenset()
    assert await here.apply(document("v2", flows=flows, publishers=lists(f="pq", g="pq")))
    assert here.driver.lists[-1] == {"f": ("p", "q"), "g": ("p", "q")}


async def test_a_list_is_in_force_when_others_have_left_and_their_messages_have_passed(
    here: Here,
) -> None:
    here.driver.still_connected = frozenset("f")
    assert await here.apply(document(flows=ENTERS, publishers=lists(f="p")))
    here.router.start()
    await asyncio.sleep(0.3)
    assert here.enforcer.observed(Stats()).publishers == {}
    before, here.driver.still_connected = here.news, frozenset()
    assert await in_force(here, "f") == publishers_digest("p")
    assert here.news > before, "it is reported at once"
    assert await here.apply(document("v2", flows=ENTERS, publishers=lists(f="pq")))
    observed = here.enforcer.observed(Stats()).publishers
    assert observed == {"f": publishers_digest("pq")}, "a list that only grows is so at once"
    here.router.pause(frozenset())
    assert await here.apply(document("v3", flows=ENTERS, publishers=lists(f="q")))
    await asyncio.sleep(0.5)
    assert here.enforcer.observed(Stats()).publishers == {}, "its mark waits behind a pause"
    here.router.resume()
    assert await in_force(here, "f") == publishers_digest("q")
    assert await here.apply(document("v4", flows=ENTERS))
    assert here.enforcer.observed(Stats()).publishers == {}
    assert here.broker.publishers == {}


async def test_a_profile_begins_when_part_and_list_came_into_force_here(here: Here) -> None:
    def profile() -> object:
        return here.router.counters().profiles.get("f")

    parts = {"f": PART}

    async def apply(version: str, **members: object) -> object:
        known = {"flows": ENTERS, "buckets": parts, **members}
        assert await here.apply(document(version, **known))
        return profile()

    here.router.start()
    without = await apply("v1")
    assert without is not None
    assert await apply("v2", number=2) is without
    listed = await apply("v3", publishers=lists(f="pq"))
    assert listed is not without
    await in_force(here, "f")
    listed = profile()
    # Other brokers get other publishers: at this one nothing changes.
    others = {"f": Publishers(here=("p", "q"), elsewhere={"b": ("r",)}, next=("b",))}
    assert await apply("v4", publishers=others) is listed
    assert await apply("v5", publishers=lists(f="pqr")) is not listed
    grown = profile()
    here.driver.still_connected = frozenset("f")
    assert await apply("v6", publishers=lists(f="p")) is not grown
    leaving = profile()
    assert leaving is not None
    await asyncio.sleep(0.3)
    assert profile() is leaving
    here.router.pause(frozenset())
    here.driver.still_connected = frozenset()
    await until(lambda: profile() is not leaving, "begins anew when the others have left")
    shrunk = profile()
    assert "f" not in here.enforcer.observed(Stats()).publishers, "their messages still wait"
    here.router.resume()
    await in_force(here, "f")
    assert profile() is shrunk
    assert await apply("v7", publishers=lists(f="p"), buckets={**parts, "g": PART}) is shrunk
    parts["f"] = replace(PART, size=7.0)
    assert await apply("v8", publishers=lists(f="p")) not in (None, shrunk)
    parts["f"] = replace(PART, count_only=True)
    assert await apply("v9", publishers=lists(f="p")) is None


async def test_a_mark_whose_ingress_is_stopped_is_not_waited_for(here: Here) -> None:
    here.router.start()
    assert await here.apply(document(flows=ENTERS, publishers=lists(f="p")))
    here.router.pause(frozenset())
    await asyncio.sleep(0.2)
    assert here.enforcer.observed(Stats()).publishers == {}
    assert await here.apply(document("v2", flows={"f": FlowSpec()}, publishers=lists(f="p")))
    assert await in_force(here, "f") == publishers_digest("p")


async def test_says_that_a_broker_cannot_hold_publishers_to_their_lists(here: Here) -> None:
    here.driver.cannot_assign = True
    assert not await here.apply(document(flows=ENTERS, publishers=lists(f="p")))
    observed = here.enforcer.observed(Stats())
    assert observed.publishers == {}
    assert any("auth callout" in problem for problem in observed.problems)
    assert await here.apply(document("v2", flows=ENTERS)), "nothing is asked of it"
