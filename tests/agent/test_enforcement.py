"""Documents carried out on a virtual broker: what is in force, in which order, what goes wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.drivers.base import Channel, DriverError, Message, Place, Stats
from agent.enforcement import NOT_ON_DISK
from tests.agent.enforcing import FULL, GATE, Here, document
from weir.coordination.wire import ClassSpec, Delivery, FlowSpec, Gate, Neighbour

pytestmark = pytest.mark.asyncio


async def test_everything_of_a_document_is_in_force(here: Here) -> None:
    assert await here.apply(FULL)
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.version == "v1"
    assert observed.gates == {"f": GATE}
    assert observed.limits == {"k": 3}
    assert observed.links == ("b",)
    assert here.router.flows.local == {"f", "g"}
    assert here.driver.calls == [{"k": 3, "open": None}], "nobody was let in without the limit"


async def test_again_changes_nothing(here: Here) -> None:
    await here.apply(FULL)
    assert await here.apply(FULL)
    assert len(here.driver.calls) == 1


async def test_limits_fall_before_limits_rise(here: Here) -> None:
    await here.apply(FULL)
    await here.apply(
        replace(
            FULL,
            version="v2",
            classes={"k": ClassSpec(flow="f", limit=1), "open": ClassSpec(flow="g", limit=9)},
        )
    )
    assert here.driver.calls[1:] == [{"k": 1, "open": 9}]
    await here.apply(
        replace(
            FULL,
            version="v3",
            classes={"k": ClassSpec(flow="f", limit=4), "open": ClassSpec(flow="g", limit=2)},
        )
    )
    assert here.driver.calls[2:] == [{"k": 1, "open": 2}, {"k": 4, "open": 2}]


async def test_what_gives_waits_until_the_evicted_have_left(here: Here) -> None:
    await here.apply(FULL)
    here.driver.keeps_evicted = True
    more = replace(
        FULL,
        version="v2",
        gates={"f": Gate(rate_per_s=99.0, burst=5.0)},
        classes={"k": ClassSpec(flow="f", limit=1), "open": ClassSpec(flow="g")},
    )
    assert not await here.apply(more)
    observed = here.enforcer.observed(await here.driver.stats())
    assert (observed.version, observed.limits, observed.gates) == ("v1", {"k": 3}, {"f": GATE})
    assert observed.problems == (
        "limits cannot be set: 2 consumers above their limit have not left yet",
    )
    here.driver.keeps_evicted = False
    assert await here.apply(more)
    observed = here.enforcer.observed(await here.driver.stats())
    assert (observed.limits, observed.gates["f"].rate_per_s) == ({"k": 1}, 99.0)
    assert observed.problems == ()


async def test_flows_come_until_the_last_of_their_consumers_has_left(here: Here) -> None:
    """A class goes; as long as somebody of it is still in, its messages are still wanted."""
    await here.apply(FULL)
    here.driver.keeps_evicted = True
    gone = replace(FULL, version="v2", classes={"open": ClassSpec(flow="g")})
    await here.apply(gone)
    assert here.router.flows.local == {"f", "g"}
    here.driver.keeps_evicted = False
    await here.apply(gone)
    assert here.router.flows.local == {"g"}


async def test_a_link_on_which_messages_wait_is_a_problem_that_counts_them(here: Here) -> None:
    await here.apply(FULL)
    outbox = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
    here.broker.line(outbox).append([Message("f", b"1", "a", 1), Message("f", b"2", "a", 2)])
    alone = replace(FULL, version="v2", neighbours={})
    assert not await here.apply(alone)
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.links == ("b",)
    assert any("2 reliable messages still wait" in problem for problem in observed.problems)
    here.broker.line(outbox).settle(2)
    assert await here.apply(alone)
    assert here.router.tables.links == frozenset()


async def test_one_flow_that_cannot_be_does_not_hold_up_the_rest(here: Here) -> None:
    here.driver.cannot_stream = True
    assert not await here.apply(replace(FULL, classes={"open": ClassSpec(flow="g", limit=2)}))
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.version == ""
    assert observed.limits == {"open": 2}
    assert observed.problems == ("flow f: the reliable class needs a server with JetStream",)


SERVED = replace(
    FULL,
    version="v2",
    flows={**FULL.flows, "h": FlowSpec(delivery=Delivery.RELIABLE)},
    classes={**FULL.classes, "late": ClassSpec(flow="h")},
)
"""One more class, of a flow that no class received before."""


async def test_a_name_that_is_too_long_silences_no_other_flow(here: Here) -> None:
    here.driver.too_long = frozenset({"f"})
    assert not await here.apply(SERVED)
    assert here.router.known
    assert here.router.flows.local == {"g", "h"}
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.number == SERVED.number
    assert observed.flow_failures == {"f": "the name is too long"}
    assert observed.version == ""
    assert "flow f cannot be delivered to consumers: the name is too long" in observed.problems
    here.driver.too_long = frozenset()
    assert await here.apply(SERVED)
    assert here.router.flows.local == {"f", "g", "h"}
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.flow_failures == {}
    assert not [problem for problem in observed.problems if "flow f" in problem]


async def test_a_newly_served_flow_without_room_silences_no_other_new_flow(here: Here) -> None:
    await here.apply(FULL)
    here.driver.no_room = frozenset({"h"})
    more = replace(
        SERVED,
        flows={**SERVED.flows, "i": FlowSpec(delivery=Delivery.RELIABLE)},
        classes={**SERVED.classes, "last": ClassSpec(flow="i")},
    )
    assert not await here.apply(more)
    assert not await here.apply(more)
    assert here.router.flows.local == {"f", "g", "i"}
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.flow_failures == {"h": "no room for another stream"}


async def test_whoever_starts_waits_for_flows_that_may_have_been_delivered(here: Here) -> None:
    """Left out, their messages would be discarded: nobody knows yet who was served before."""
    await here.router.flows.ensure_flow("f", FULL.flows["f"])
    here.driver.no_room = frozenset({"f"})
    with pytest.raises(DriverError, match="no room"):
        await here.router.flows.set_local({"f", "g"})
    assert not here.router.known
    here.driver.no_room = frozenset()
    assert await here.router.flows.set_local({"f", "g"}) == {}
    assert here.router.flows.local == {"f", "g"}


async def test_a_flow_that_cannot_become_reliable_is_no_longer_wanted(here: Here) -> None:
    """Its messages would wait for ever for a stream, and with them all others of the link."""
    await here.apply(FULL)
    here.driver.too_long = frozenset({"g"})
    flows = {**FULL.flows, "g": FlowSpec(delivery=Delivery.RELIABLE)}
    assert not await here.apply(replace(FULL, version="v2", flows=flows))
    assert here.router.flows.local == {"f"}


async def test_consumers_that_cannot_be_limited_are_reported_by_class(here: Here) -> None:
    await here.apply(FULL)
    here.driver.keeps_evicted = True
    fewer = replace(FULL, version="v2", classes={"k": ClassSpec(flow="f", limit=1)})
    assert not await here.apply(fewer)
    observed = here.enforcer.observed(await here.driver.stats())
    assert observed.class_failures == {
        "k": "limits cannot be set: 2 consumers above their limit have not left yet"
    }
    here.driver.keeps_evicted = False
    assert await here.apply(fewer)
    assert here.enforcer.observed(await here.driver.stats()).class_failures == {}


async def test_a_limit_of_nobody_wants_no_messages(here: Here) -> None:
    await here.apply(replace(FULL, classes={"k": ClassSpec(flow="f", limit=0)}))
    assert here.router.flows.local == frozenset()


async def test_links_of_running_actions_are_left_alone(here: Here) -> None:
    await here.apply(FULL)
    here.busy = frozenset({"b", "c"})
    await here.apply(replace(FULL, version="v2", neighbours={"c": Neighbour(address="sim://c")}))
    assert here.router.tables.links == {"b"}
    here.busy = frozenset()
    await here.apply(replace(FULL, version="v2", neighbours={"c": Neighbour(address="sim://c")}))
    assert here.router.tables.links == {"c"}


async def test_a_document_from_the_disk_changes_no_links(here: Here) -> None:
    await here.apply(FULL, current=lambda: False)
    assert here.router.tables.links == frozenset()
    assert here.enforcer.observed(Stats()).limits == {"k": 3}


async def test_a_document_of_before_orders_takes_no_link_away(here: Here) -> None:
    """Its orders were obeyed at once; the disk was slow, so it is carried out after later ones."""
    await here.apply(FULL)
    here.router.swap(here.router.tables.with_link("c", {"f"}, "x"))
    await here.apply(FULL, current=lambda: False)
    assert here.router.tables.links == {"b", "c"}
    assert here.sent_on("f") == {"c"}


async def test_orders_that_come_while_a_link_is_taken_away_keep_it(here: Here) -> None:
    await here.apply(FULL)
    here.router.swap(here.router.tables.with_link("b", {"f"}, "x"))
    answers = iter([True, True, True, False])
    await here.apply(document("v2", flows=FULL.flows), current=lambda: next(answers, False))
    assert here.router.tables.links == {"b"}
    # What carries the orders out says by which tables.
    here.router.swap(here.router.tables)
    assert here.sent_on("f") == {"b"}


async def test_a_link_that_was_to_go_is_used_again_when_it_stays(here: Here) -> None:
    await here.apply(FULL)
    here.router.swap(here.router.tables.with_link("b", {"f"}, "x"))
    waits = Channel(place=Place.OUTBOX, delivery=Delivery.RELIABLE, neighbour="b")
    here.broker.line(waits).append([Message("f", b"0", "a", 1)])
    assert not await here.apply(document("v2", flows=FULL.flows))
    assert here.sent_on("f") == set()
    await here.apply(replace(FULL, version="v3"))
    assert here.sent_on("f") == {"b"}


async def test_what_was_on_its_way_to_former_consumers_finds_a_place_on_another_disk(
    here: Here,
) -> None:
    """Else it would hold up everything that comes after it over the same link."""
    await here.apply(FULL)
    await here.apply(document("v2", flows=FULL.flows))
    there = Channel(place=Place.DELIVERY, delivery=Delivery.RELIABLE, flow="f")
    here.driver.made.clear()
    await here.apply(document("v3"))
    assert there not in here.driver.made
    here.driver.process = "another"
    assert await here.apply(document("v3"))
    assert there in here.driver.made


async def test_a_flow_that_is_gone_comes_in_no_more(here: Here) -> None:
    await here.apply(FULL)
    await here.apply(document("v2"))
    observed = here.enforcer.observed(await here.driver.stats())
    assert (observed.gates, observed.limits, observed.links) == ({}, {}, ())
    assert here.router.counters().waiting == {}


async def test_reliable_flows_on_a_broker_that_acknowledges_early_are_told(here: Here) -> None:
    await here.apply(FULL)
    assert here.enforcer.observed(Stats(sync_always=False)).problems == (NOT_ON_DISK,)
    assert here.enforcer.observed(Stats(sync_always=True)).problems == ()
