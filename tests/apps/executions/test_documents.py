"""Documents are a pure function of the database, read in few queries however large the system."""

from dataclasses import replace
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.executions.models import Setting
from apps.executions.services.documents import document_of, facts_of, stamp_of
from apps.systems.models import System
from apps.systems.services import entity_update, unmanaged_set
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
from tests.factories.interest_imports import carry_out, table
from tests.factories.map_followers import make_exchange
from weir.coordination.wire import (
    ClassSpec,
    Delivery,
    FlowSpec,
    Gate,
    Neighbour,
    StreamPlace,
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


class TestPlaces:
    """Which mapped flows a broker sends on which streams."""

    GOLD, SILVER, TIN = (
        StreamPlace(group=11, stream=1),
        StreamPlace(group=11, stream=1),
        StreamPlace(group=12, stream=2),
    )

    @pytest.fixture
    def exchange(self):
        return make_exchange()

    @pytest.fixture
    def agents(self, exchange):
        return {name: come(broker) for name, broker in exchange.brokers.items()}

    def places(self, exchange) -> dict[str, dict[str, StreamPlace]]:
        found = facts_of(exchange.system.pk)
        assert found is not None
        return {name: dict(document_of(found[1], name).places) for name in "abc"}

    def versions(self, agents) -> dict[str, str]:
        return {name: document_for(agent).version for name, agent in agents.items()}

    def change(self, row, **values) -> None:
        row.refresh_from_db()
        children = {"interests": values.pop("interests")} if "interests" in values else None
        entity_update(
            instance=row,
            actor=None,
            expected_version=row.version,
            values=values,
            children=children,
        )

    def test_are_those_of_flows_that_somebody_wants_there(self, exchange, agents):
        assert self.places(exchange) == {
            "a": {"gold": self.GOLD},
            "b": {"gold": self.GOLD, "silver": self.SILVER, "tin": self.TIN},
            "c": {},
        }

    def test_who_names_no_broker_has_nothing_drawn_to_any(self, exchange, agents):
        self.change(exchange.subscribers["amy"], broker=None)
        at_b = {"gold": self.GOLD, "silver": self.SILVER, "tin": self.TIN}
        assert self.places(exchange) == {"a": {}, "b": at_b, "c": {}}

    def test_are_of_flows_that_are_carried(self, exchange, agents):
        carried = Setting.objects.filter(kind="carry_flow", target__flow="gold")
        carried.update(desired=None, in_force=None)
        assert self.places(exchange)["a"] == {}
        assert "gold" not in self.places(exchange)["b"]

    def test_are_the_same_of_reliable_flows(self, exchange, agents):
        before = self.places(exchange)
        reliable = {"delivery": "reliable", "broker": "a"}
        carried = Setting.objects.filter(kind="carry_flow", target__flow="gold")
        carried.update(desired=reliable, in_force=reliable)
        assert self.places(exchange) == before

    @pytest.mark.parametrize(
        ("what", "name", "values", "concerned"),
        [
            ("topics", "gold", {"stream": "s-2"}, "ab"),
            ("topics", "silver", {"stream": None}, "b"),
            ("topics", "lead", {"stream": "s-1"}, "a"),
            ("topics", "lead", {"stream": "s-3"}, ""),
            ("streams", "s-2", {"group": "g-1"}, "b"),
            ("streams", "s-3", {"group": "g-1"}, ""),
            ("streams", "s-1", {"number": 9}, "ab"),
            ("groups", "g-2", {"number": 9}, "b"),
            ("subscribers", "amy", {"interests": []}, "a"),
            ("subscribers", "amy", {"interests": ["gold", "lead", "tin"]}, "a"),
            ("subscribers", "bea", {"broker": "c"}, "bc"),
            ("subscribers", "bea", {"description": "moved house"}, ""),
            ("topics", "gold", {"rate_max_per_s": 500.0}, ""),
            ("streams", "s-1", {"name": "s-one"}, ""),
        ],
    )
    def test_an_edit_changes_the_documents_that_say_something_else(
        self, exchange, agents, what, name, values, concerned
    ):
        before, stamp = self.versions(agents), stamp_of(exchange.system.pk)
        by_name = {
            "stream": exchange.streams,
            "group": exchange.groups,
            "broker": exchange.brokers,
        }
        given = {
            member: by_name[member].get(value) if member in by_name else value
            for member, value in values.items()
        }
        if "interests" in given:
            wanted = given["interests"]
            given["interests"] = [{"topic": exchange.topics[flow]} for flow in wanted]
        self.change(getattr(exchange, what)[name], **given)
        after = self.versions(agents)
        assert {each for each in after if after[each] != before[each]} == set(concerned)
        newer = stamp_of(exchange.system.pk)
        assert newer != stamp
        assert all(a >= b for a, b in zip(newer, stamp, strict=True))

    def test_an_import_of_interests_changes_them(self, exchange, agents, api):
        before, stamp = self.versions(agents), stamp_of(exchange.system.pk)
        carry_out(api, exchange.system, "add", table([("amy", "silver")]))
        after = self.versions(agents)
        assert {name for name in after if after[name] != before[name]} == {"a"}
        assert self.places(exchange)["a"]["silver"] == self.SILVER
        assert stamp_of(exchange.system.pk).model_version > stamp.model_version

    def test_an_ended_import_of_nothing_changes_nothing(self, exchange, agents, api):
        stamp = stamp_of(exchange.system.pk)
        carry_out(api, exchange.system, "add", table([("amy", "gold")]))
        assert stamp_of(exchange.system.pk) == stamp

    def test_of_another_system_are_of_that(self, exchange, agents):
        other = make_exchange("another")
        before = self.places(exchange)
        self.change(other.topics["gold"], stream=other.streams["s-2"])
        assert self.places(exchange) == before

    def look(self, exchange, former=None):
        with CaptureQueriesContext(connection) as captured:
            found = facts_of(exchange.system.pk, former)
        assert found is not None
        asked = [query for query in captured.captured_queries if "catalog_interest" in query["sql"]]
        return found[1], len(captured), len(asked)

    def test_cost_one_more_query_and_none_where_there_are_none(self, exchange):
        facts, without_agents, interests = self.look(exchange)
        assert (facts.places, interests) == ({}, 0)
        for broker in exchange.brokers.values():
            come(broker)
        facts, with_map, interests = self.look(exchange)
        assert (with_map, interests) == (without_agents + 1, 1)
        for stream in exchange.streams.values():
            self.change(stream, group=None)
        facts, without_groups, interests = self.look(exchange)
        assert (facts.places, without_groups, interests) == ({}, without_agents, 0)

    def test_are_taken_over_while_nothing_that_they_are_made_of_changes(self, exchange, agents):
        former, *_ = self.look(exchange)
        start(exchange.system, [rate(None, 90.0, flow="gold")])
        facts, _, interests = self.look(exchange, former)
        assert interests == 0
        assert facts.places is former.places

    def test_are_read_again_when_something_does(self, exchange, agents):
        former, *_ = self.look(exchange)
        self.change(exchange.topics["gold"], stream=exchange.streams["s-2"])
        moved, *_ = self.look(exchange, former)
        assert moved.places["a"]["gold"] == self.TIN
        agent_revoke(agent=agents["a"], actor=None)
        fewer, *_ = self.look(exchange, moved)
        assert set(fewer.places) == {"b"}
        Setting.objects.filter(kind="carry_flow", target__flow="tin").delete()
        uncarried, *_ = self.look(exchange, fewer)
        assert set(uncarried.places["b"]) == {"gold", "silver"}

    def test_are_not_taken_over_from_a_database_that_has_gone_back(self, exchange, agents):
        former, *_ = self.look(exchange)
        ahead = replace(former, number=former.number + 1, places={"a": {"gold": self.TIN}})
        facts, _, interests = self.look(exchange, ahead)
        assert interests == 1
        assert facts.places == former.places

    def test_go_over_the_wire_and_back(self, exchange, agents):
        for agent in agents.values():
            document = document_for(agent)
            assert document_from_dict(to_dict(document)) == document
