"""Documents carried out on a virtual broker: what is in force, in which order, what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

import pytest
import pytest_asyncio

from agent.drivers.base import (
    Channel,
    DriverError,
    Message,
    NameTooLong,
    Place,
    Retryable,
    Source,
    Stats,
    Unsupported,
)
from agent.drivers.simulated.broker import VirtualBroker, VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.enforcement import NOT_ON_DISK, Enforcer
from agent.router import Router
from tests.agent.planes import until
from weir.coordination.wire import (
    KEEP_S,
    Bucket,
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Publishers,
    publishers_digest,
)

pytestmark = pytest.mark.asyncio

GATE = Gate(rate_per_s=10.0, burst=5.0)


class Stubborn(SimulatedDriver):
    """A virtual broker that refuses what a test says it shall refuse."""

    def __init__(self, network: VirtualNetwork) -> None:
        super().__init__(network=network, address="sim://a", broker="a")
        self.keeps_evicted = False
        self.cannot_stream = False
        self.too_long: frozenset[str] = frozenset()
        self.no_room: frozenset[str] = frozenset()
        self.calls: list[dict[str, int | None]] = []
        self.made: list[Channel] = []
        self.cannot_assign = False
        self.lists: list[dict[str, tuple[str, ...]]] = []
        """What was let in, one after the other."""
        self.made_by_then: list[set[str]] = []
        """The flows with a channel at that time."""
        self.still_connected: frozenset[str] = frozenset()
        self.process = "one"

    @property
    def server(self) -> str:
        return self.process

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        if self.cannot_assign:
            raise Unsupported("this needs a server whose auth callout asks this agent")
        lists = {flow: one.here for flow, one in publishers.items()}
        if not self.lists or lists != self.lists[-1]:
            self.lists.append(lists)
            self.made_by_then.append({channel.flow for channel in self.made})
        await super().assign(publishers)
        return self.still_connected

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        self.calls.append({name: spec.limit for name, spec in classes.items()})
        if self.keeps_evicted:
            raise Retryable("2 consumers above their limit have not left yet")
        await super().admit(classes, unmanaged=unmanaged)

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        if self.cannot_stream and channel.delivery is Delivery.RELIABLE:
            raise Unsupported("the reliable class needs a server with JetStream")
        if channel.flow in self.too_long:
            raise NameTooLong("the name is too long")
        if channel.flow in self.no_room and channel.place is Place.DELIVERY:
            raise DriverError("no room for another stream")
        self.made.append(channel)
        await super().ensure_channel(channel)


class Here:
    def __init__(self) -> None:
        self.network = VirtualNetwork()
        self.driver = Stubborn(self.network)
        self.router = Router(self.driver)
        self.busy: frozenset[str] = frozenset()
        self.news = 0
        self.enforcer = Enforcer(
            driver=self.driver,
            router=self.router,
            busy=lambda: self.busy,
            changed=self._changed,
        )

    def _changed(self) -> None:
        self.news += 1

    @property
    def broker(self) -> VirtualBroker:
        return self.network.at("sim://a")

    async def apply(
        self, document: Document, *, current: Callable[[], bool] = lambda: True
    ) -> bool:
        return await self.enforcer.apply(document, current=current)

    def sent_on(self, flow: str) -> set[str]:
        """To which neighbours a message that comes in now would go."""
        source = Source(delivery=Delivery.RELIABLE, flow=flow)
        return {channel.neighbour for channel in self.router._route(flow, source)} - {""}


@pytest_asyncio.fixture
async def here() -> AsyncIterator[Here]:
    here = Here()
    yield here
    await here.router.close()


def document(version: str = "v1", **members: object) -> Document:
    known = {"system": "s", "broker": "a", "version": version, **members}
    return Document(**known)  # type: ignore[arg-type]


FULL = document(
    flows={"f": FlowSpec(delivery=Delivery.RELIABLE, ingress=True), "g": FlowSpec()},
    gates={"f": GATE},
    classes={"k": ClassSpec(flow="f", limit=3), "open": ClassSpec(flow="g")},
    neighbours={"b": Neighbour(address="sim://b")},
)


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


ENTERS = {"f": FlowSpec(delivery=Delivery.RELIABLE, ingress=True)}


def lists(**here: str) -> dict[str, Publishers]:
    return {flow: Publishers(here=tuple(names)) for flow, names in here.items()}


async def in_force(here: Here, flow: str) -> str:
    async with asyncio.timeout(10):
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
