"""The database itself refuses what must never be, whoever writes past the services."""

import math
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.allocations.models import Allocation, ClassPopulation
from apps.audit.models import AuditEntry
from apps.catalog.models import (
    ConsumerClass,
    Interest,
    Publisher,
    Slo,
    Stream,
    Subscriber,
    Topic,
    TopicNodeCost,
)
from apps.runs.models import Run
from apps.systems.models import System
from apps.topology.models import Broker, BrokerCapacity, Link, Overlay, OverlayEdge
from tests.factories import make_broker, make_system
from tests.factories.kinds import World, make_world
from tests.factories.runs import make_allocation, make_run

pytestmark = pytest.mark.django_db


def refused(constraint: str, write: Any) -> None:
    """The write breaks exactly this constraint, at the latest when the transaction ends."""

    def all_of_it() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            write()
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    with pytest.raises(IntegrityError) as caught:
        all_of_it()
    assert caught.value.__cause__.diag.constraint_name == constraint
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.parametrize("capacity", [-1.0, float("inf"), float("nan")])
def test_capacity_that_is_no_amount(world: World, capacity):
    refused(
        "broker_capacity_finite_not_negative",
        lambda: BrokerCapacity.objects.create(
            broker=world.broker, resource="memory", capacity=capacity
        ),
    )


def test_negative_capacity_by_update(world: World):
    refused(
        "broker_capacity_finite_not_negative",
        lambda: BrokerCapacity.objects.update(capacity=-1),
    )


def test_link_to_itself(world: World):
    refused("link_joins_two_brokers", lambda: Link.objects.update(target=world.broker))


def test_rates_the_wrong_way_round(world: World):
    refused("topic_rate_min_at_most_rate_max", lambda: Topic.objects.update(rate_min_per_s=101))


def test_half_a_token_bucket(world: World):
    refused("topic_token_bucket_whole_or_absent", lambda: Topic.objects.update(token_bucket=1))


def test_a_bucket_recorded_of_no_token_bucket(world: World):
    refused(
        "topic_recorded_bucket_has_a_token_bucket",
        lambda: Topic.objects.update(recorded_bucket=30),
    )


@pytest.mark.parametrize("recorded", [0.5, math.inf, math.nan])
def test_a_recorded_bucket_that_is_no_number_of_messages(world: World, recorded):
    refused(
        "topic_recorded_bucket_finite_at_least_one",
        lambda: Topic.objects.update(token_rate_per_s=5, token_bucket=5, recorded_bucket=recorded),
    )


def test_objective_of_everything(world: World):
    refused(
        "slo_objective_between_0_and_1",
        lambda: Slo.objects.create(
            system=world.system,
            name="all",
            topic=world.topic,
            quantity="loss_ratio",
            target=0,
            objective=1,
        ),
    )


def test_population_below_nobody(world: World):
    refused(
        "catalog_consumerclass_population_max_check",
        lambda: ConsumerClass.objects.update(population_max=-1),
    )


def test_system_without_a_resource_or_a_name(world: World):
    refused("system_has_a_resource", lambda: System.objects.update(resources=[]))
    refused("system_name_given", lambda: System.objects.update(name=""))


def test_reference_to_another_system(world: World):
    other = make_world("elsewhere")
    refused("link_stays_in_its_system", lambda: world_update(world.link, target=other.broker))
    refused("topic_stays_in_its_system", lambda: world_update(world.topic, source=other.broker))
    refused("stream_stays_in_its_system", lambda: world_update(world.stream, group=other.group))
    pins: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("topic", world.topic, {"pinned_stream": other.stream}),
        ("stream", world.stream, {"pinned_group": other.group}),
    )
    for kind, row, pin in pins:
        refused(f"{kind}_stays_in_its_system", lambda row=row, pin=pin: world_update(row, **pin))
    refused(
        "consumerclass_stays_in_its_system",
        lambda: world_update(world.consumers, utility=other.utility),
    )
    refused(
        "publisher_stays_in_its_system",
        lambda: Publisher.objects.create(
            system=world.system, name="p", topic=world.topic, correlation_key=other.key
        ),
    )
    refused(
        "topicnodecost_stays_in_its_system",
        lambda: TopicNodeCost.objects.create(
            topic=world.topic, broker=other.other_broker, resource="cpu", cost=1
        ),
    )
    refused(
        "slo_stays_in_its_system",
        lambda: Slo.objects.create(
            system=world.system, name="s", topic=other.topic, quantity="loss_ratio", target=0
        ),
    )
    refused("interest_stays_in_its_system", lambda: _interest(world, other))


def _interest(world: World, other: World) -> None:
    subscriber = Subscriber.objects.create(system=world.system, name="u")
    Interest.objects.create(subscriber=subscriber, topic=other.topic)


def world_update(row: Any, **values: Any) -> None:
    type(row).objects.filter(pk=row.pk).update(**values)


def test_stream_number_twice(world: World):
    refused(
        "stream_number_once",
        lambda: Stream.objects.create(system=world.system, name="twin", number=100),
    )


class TestOverlays:
    """The edges of an overlay are one tree when the transaction ends."""

    @pytest.fixture
    def overlay(self, db: None) -> Overlay:
        return Overlay.objects.create(system=make_system(), name="tree")

    def join(self, overlay: Overlay, *edges: str) -> None:
        brokers = {
            name: Broker.objects.filter(system=overlay.system, name=name).first()
            or make_broker(overlay.system, name)
            for name in sorted(set("".join(edges)))
        }
        for edge in edges:
            OverlayEdge.objects.create(overlay=overlay, a=brokers[edge[0]], b=brokers[edge[1]])
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")

    def test_cycle(self, overlay):
        refused("overlay_is_a_tree", lambda: self.join(overlay, "ab", "bc", "ca"))

    def test_forest(self, overlay):
        refused("overlay_is_a_tree", lambda: self.join(overlay, "ab", "cd"))

    def test_cycle_and_another_tree(self, overlay):
        refused("overlay_is_a_tree", lambda: self.join(overlay, "ab", "bc", "ca", "de"))

    def test_edge_there_and_back(self, overlay):
        refused("overlay_is_a_tree", lambda: self.join(overlay, "ab", "ba"))

    def test_edge_to_itself(self, overlay):
        refused("overlay_edge_joins_two_brokers", lambda: self.join(overlay, "aa"))

    def test_removal_that_cuts_the_tree(self, overlay):
        self.join(overlay, "ab", "bc", "cd")
        middle = OverlayEdge.objects.get(a__name="b")
        refused("overlay_is_a_tree", lambda: middle.delete())

    def test_edge_moved_so_that_it_closes_a_ring(self, overlay):
        self.join(overlay, "ab", "bc", "cd")
        last, first = OverlayEdge.objects.get(a__name="c"), OverlayEdge.objects.get(a__name="a")
        refused("overlay_is_a_tree", lambda: world_update(last, b=first.a))

    def test_edge_given_to_another_overlay(self, overlay):
        self.join(overlay, "ab", "bc", "cd")
        other = Overlay.objects.create(system=overlay.system, name="other")
        middle = OverlayEdge.objects.get(a__name="b")
        refused("overlay_edge_stays", lambda: world_update(middle, overlay=other))

    def test_tree_in_any_order_of_its_edges(self, overlay):
        self.join(overlay, "ab", "cd", "bc", "be")
        assert overlay.edges.count() == 4

    def test_two_in_force(self, overlay):
        Overlay.objects.update(in_force=True)
        refused(
            "one_overlay_in_force",
            lambda: Overlay.objects.create(system=overlay.system, name="two", in_force=True),
        )
        Overlay.objects.create(system=make_system("elsewhere"), name="two", in_force=True)

    def test_goal_in_force(self, overlay):
        refused(
            "goal_topology_is_not_in_force",
            lambda: Overlay.objects.update(in_force=True, purpose="goal"),
        )


class TestRecord:
    """What was done stays done."""

    def test_entry_cannot_be_changed(self, world: World):
        refused("audit_append_only", lambda: AuditEntry.objects.update(reason="never happened"))

    def test_entry_cannot_be_deleted(self, world: World):
        refused("audit_append_only", lambda: AuditEntry.objects.all().delete())

    def test_record_cannot_be_emptied(self, world: World):
        with connection.cursor() as cursor:
            # Only the clean-up of other tests goes without it, and this transaction is undone.
            cursor.execute("ALTER TABLE audit_auditentry ENABLE TRIGGER audit_never_emptied")
            refused("audit_append_only", lambda: cursor.execute("TRUNCATE audit_auditentry"))


class TestRuns:
    """A run's row cannot lie."""

    def test_more_admitted_than_wanted(self, world: World):
        make_allocation(world.system)
        refused(
            "allocation_admits_at_most_the_wanted",
            lambda: Allocation.objects.update(admitted=10**6),
        )
        refused(
            "class_admits_at_most_the_wanted",
            lambda: ClassPopulation.objects.update(admitted=10**6),
        )

    def test_unknown_state(self, world: World):
        make_run(world.system)
        refused("run_state_known", lambda: Run.objects.update(state="sleeping"))

    def test_ended_without_a_time(self, world: World):
        make_run(world.system)
        refused("run_ended_has_a_time", lambda: Run.objects.update(state="cancelled"))

    def test_running_without_a_heartbeat(self, world: World):
        make_run(world.system)
        refused("run_running_has_a_heartbeat", lambda: Run.objects.update(state="running"))

    def test_failed_without_a_reason(self, world: World):
        run = make_run(world.system)
        refused(
            "run_failed_has_a_reason",
            lambda: Run.objects.update(state="failed", finished_at=run.created_at),
        )


def test_unknown_role(admin):
    refused("user_roles_known", lambda: User.objects.update(roles=["emperor"]))


def test_number_too_large_for_its_column(world: World):
    with pytest.raises(DataError), transaction.atomic():
        ConsumerClass.objects.update(population_max=2**31)
