"""Documents are a pure function of the database, read in few queries however large the system."""

from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.executions.services.documents import document_of, facts_of, stamp_of
from apps.systems.models import System
from apps.systems.services import unmanaged_set
from apps.telemetry.models import Agent
from apps.telemetry.services import (
    Introduction,
    agent_address_set,
    agent_enrol,
    agent_revoke,
    agent_session,
)
from tests.factories import make_broker, make_class, make_system, make_topic
from tests.factories.fleet import (
    document_for,
    make_harbour,
    make_overlay,
    population,
    put_in_force,
    rate,
    shift,
    start,
)
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    FlowSpec,
    Gate,
    Neighbour,
    document_from_dict,
    to_dict,
)

pytestmark = pytest.mark.django_db


KEY = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
NOWHERE = Neighbour(address="", key="")


def come(broker, *, said: str = "", key: str = "", **facts) -> Agent:
    agent, _ = agent_enrol(broker=broker, actor=None)
    return agent_session(agent=agent, introduction=introduction(said, key, **facts))


def introduction(said: str = "", key: str = "", **facts) -> Introduction:
    return Introduction(
        agent_version="1",
        product="simulated",
        address=said,
        facts=facts,
        capabilities={},
        key=key,
    )


@pytest.fixture
def harbour():
    return make_harbour()


@pytest.fixture
def agents(harbour):
    return {name: come(broker) for name, broker in harbour.brokers.items()}


def test_every_broker_knows_every_flow_and_its_own_ingress(harbour, agents):
    for name, agent in agents.items():
        assert document_for(agent).flows == {
            "tides": FlowSpec(delivery=Delivery.RELIABLE, ingress=name == "a")
        }


def test_an_ingress_knows_what_the_smallest_broker_takes_in_one_message(harbour, agents):
    assert document_for(agents["a"]).flows["tides"].max_message_bytes == 0
    sizes = {"a": 1_048_576, "b": 65_536, "c": "unknown", "d": -1}
    for name, size in sizes.items():
        agent_session(agent=agents[name], introduction=introduction(name, max_payload_bytes=size))
    assert document_for(agents["a"]).flows["tides"].max_message_bytes == 65_536
    assert document_for(agents["b"]).flows["tides"].max_message_bytes == 0


def test_classes_are_those_of_the_broker_with_the_limit_asked_for(harbour, agents):
    assert document_for(agents["c"]).classes == {"gulls": ClassSpec(flow="tides", limit=None)}
    assert document_for(agents["a"]).classes == {}
    start(harbour.system, [population(None, 4)])
    assert document_for(agents["c"]).classes == {"gulls": ClassSpec(flow="tides", limit=4)}


def test_gates_are_those_of_flows_that_enter_here(harbour, agents):
    start(harbour.system, [rate(None, 90.0)])
    assert document_for(agents["a"]).gates == {"tides": Gate(rate_per_s=90.0, burst=5.0)}
    assert document_for(agents["b"]).gates == {}


def test_neighbours_are_those_of_the_overlay_in_force_also_where_nobody_came_yet(harbour):
    b = come(harbour.brokers["b"])
    assert {n: v.address for n, v in document_for(b).neighbours.items()} == {"a": "", "c": ""}
    come(harbour.brokers["a"])
    addresses = {n: v.address for n, v in document_for(b).neighbours.items()}
    assert addresses == {"a": "sim://a", "c": ""}


def test_what_an_agent_says_of_its_address_is_handed_to_nobody(harbour):
    b = come(harbour.brokers["b"])
    come(harbour.brokers["a"], said="nats://attacker:4222", key=KEY)
    assert document_for(b).neighbours["a"] == Neighbour(address="sim://a", key=KEY)


def test_a_revoked_neighbour_stays_one_without_address_and_key(harbour):
    b, a = come(harbour.brokers["b"]), come(harbour.brokers["a"], key=KEY)
    before = stamp_of(harbour.system.pk)
    agent_revoke(agent=a, actor=None)
    assert document_for(b).neighbours["a"] == NOWHERE
    assert document_for(b).keys == {}
    assert stamp_of(harbour.system.pk) > before
    start(harbour.system, [shift("a", "b", "c")])
    for order in document_for(b).orders:
        assert "a" not in {**order.addresses, **order.keys}


def test_an_agent_enrolled_anew_is_linked_again_when_it_has_come(harbour):
    b, a = come(harbour.brokers["b"]), come(harbour.brokers["a"], key=KEY)
    agent_enrol(broker=a.broker, actor=None)
    assert document_for(b).neighbours["a"] == NOWHERE
    other = KEY[:-1] + "A"
    come(harbour.brokers["a"], key=other)
    assert document_for(b).neighbours["a"] == Neighbour(address="sim://a", key=other)


def test_orders_name_the_keys_of_all_who_take_part(harbour):
    agents = {name: come(broker, key=KEY) for name, broker in harbour.brokers.items()}
    start(harbour.system, [shift("a", "b", "c")])
    (order,) = document_for(agents["a"]).orders
    assert order.keys == dict.fromkeys("abc", KEY)
    assert document_for(agents["a"]).keys == dict.fromkeys("bc", KEY)


def test_says_what_unmanaged_clients_may_do(harbour, agents):
    assert document_for(agents["a"]).unmanaged == "refuse"
    before = stamp_of(harbour.system.pk)
    system = System.objects.get(pk=harbour.system.pk)
    unmanaged_set(
        system=system,
        actor=None,
        expected_version=system.version,
        unmanaged="report",
        confirmed=True,
    )
    assert document_for(agents["a"]).unmanaged == "report"
    assert stamp_of(harbour.system.pk) > before


def test_a_system_without_an_overlay_has_documents_all_the_same():
    system = make_system()
    agent = come(make_broker(system, "alone"))
    document = document_for(agent)
    assert (document.neighbours, document.orders, document.flows) == ({}, (), {})


def test_the_version_is_the_hash_of_what_it_says(harbour, agents):
    document = document_for(agents["a"])
    assert document == document_for(agents["a"])
    assert len(document.version) == 64
    assert document.version != document_for(agents["b"]).version
    start(harbour.system, [rate(None, 90.0)])
    changed = document_for(agents["a"])
    assert changed.version != document.version
    assert document_for(agents["d"]).version == document_for(agents["d"]).version


def test_goes_over_the_wire_and_back(harbour, agents):
    start(harbour.system, [shift("a", "b", "c"), rate(None, 90.0), population(None, 4)])
    for agent in agents.values():
        document = document_for(agent)
        assert document_from_dict(to_dict(document)) == document


class TestStamp:
    """Equal stamps, equal documents."""

    def stamp(self, harbour):
        return stamp_of(harbour.system.pk)

    def test_moves_with_everything_that_documents_say(self, harbour, agents):
        seen = [self.stamp(harbour)]
        start(harbour.system, [rate(None, 90.0)])
        seen.append(self.stamp(harbour))
        b = come(harbour.brokers["b"])
        seen.append(self.stamp(harbour))
        agent_address_set(agent=b, actor=None, address="nats://10.0.0.1:4222")
        seen.append(self.stamp(harbour))
        agent_revoke(agent=b, actor=None)
        seen.append(self.stamp(harbour))
        for before, after in pairwise(seen):
            assert after != before
            assert all(b <= a for b, a in zip(before, after, strict=True))

    def test_stays_while_nothing_changes(self, harbour, agents):
        assert self.stamp(harbour) == self.stamp(harbour)

    def test_of_a_system_that_is_gone(self):
        assert stamp_of(0) is None
        assert facts_of(0) is None


def fleet_of(count: int) -> tuple[System, list[Agent]]:
    system = make_system(f"fleet-{count}")
    brokers = {chr(0x4E00 + i): make_broker(system, chr(0x4E00 + i)) for i in range(count)}
    names = list(brokers)
    make_overlay(system, brokers, *(names[i] + names[i + 1] for i in range(count - 1)))
    for i, name in enumerate(names):
        topic = make_topic(system, f"t{i}", source=brokers[name])
        make_class(system, topic, brokers[name], f"c{i}")
    put_in_force(system)
    start(
        system,
        [rate(None, 5.0, flow=f"t{i}", at=name) for i, name in enumerate(names)],
        max_parallel=99,
    )
    return system, [come(broker) for broker in brokers.values()]


def queries(work) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        work()
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_the_system():
    counts = []
    for size in (2, 9):
        system, agents = fleet_of(size)

        def look(system=system, agents=agents):
            facts = facts_of(system.pk)
            assert facts is not None
            for agent in agents:
                assert document_of(facts[1], agent.broker.name).gates

        counts.append(queries(look))
    assert counts[0] == counts[1] <= 8


def test_a_stamp_costs_one_query(harbour, agents):
    assert queries(lambda: stamp_of(harbour.system.pk)) == 1
