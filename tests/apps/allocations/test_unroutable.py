"""A model in which messages cannot reach their consumers is refused, with what is missing."""

import pytest
from rest_framework.test import APIClient

from apps.allocations.services import allocation_request
from apps.demo.services import base_workload, harbour, meridian
from apps.plans.selectors.routes import routes_of
from apps.runs.models import Run
from apps.systems.models import System
from apps.systems.services import entity_create, entity_update
from apps.topology.models import Broker, Overlay
from tests.factories import make_broker, make_class, make_link, make_system, make_topic

pytestmark = pytest.mark.django_db


@pytest.fixture
def apart() -> System:
    """A source at a, a class at b, and nothing between them."""
    system = make_system("own")
    a, b = make_broker(system, "a"), make_broker(system, "b")
    topic = make_topic(system, "t1", source=a)
    make_class(system, topic, b, "c1")
    return system


def overlay(system: System, *, in_force: bool, joined: bool) -> Overlay:
    a, b = Broker.objects.filter(system=system).order_by("name")
    return entity_create(
        model=Overlay,
        system=system,
        actor=None,
        values={"name": "tree", "in_force": in_force},
        children={"edges": [{"a": a, "b": b}] if joined else []},
    )


def test_no_way_at_all_is_refused_with_field_and_next_move(api: APIClient, apart: System) -> None:
    answer = api.post("/api/v1/allocations", {"system": str(apart.public_id)}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_route")
    assert answer.json()["detail"] == (
        "Messages of t1 enter at a and cannot reach class c1 at b: no overlay is in force and no "
        "link leads there. Add an overlay whose edges join them and set it In force, or move the "
        "class."
    )
    (error,) = answer.json()["errors"]
    assert error["field"] == "consumer_classes.c1.broker"
    assert not Run.objects.exists()


def test_an_overlay_that_is_not_in_force_leads_nobody(apart: System) -> None:
    tree = overlay(apart, in_force=False, joined=True)
    assert "Set In force on overlay tree" in routes_of(apart).sentence
    entity_update(instance=tree, actor=None, expected_version=1, values={"in_force": True})
    assert routes_of(apart).unreached == ()
    allocation_request(system=apart, actor=None)


def test_an_overlay_in_force_without_edges_leads_nobody(apart: System) -> None:
    overlay(apart, in_force=True, joined=False)
    sentence = routes_of(apart).sentence
    assert "the overlay in force, tree, does not join the two" in sentence
    assert "Add edges from a to b to overlay tree" in sentence


def test_links_lead_where_no_overlay_is_in_force(apart: System) -> None:
    a, b = Broker.objects.filter(system=apart).order_by("name")
    make_link(apart, b, a)
    assert routes_of(apart).unreached == ()


def test_costs_say_where_a_topic_goes_in_a_model_without_links(base_workload: System) -> None:
    assert routes_of(base_workload).unreached == ()


@pytest.mark.parametrize("demo", [base_workload, harbour, meridian])
def test_demo_systems_have_every_way(demo: object) -> None:
    system = demo.load()  # type: ignore[attr-defined]
    assert routes_of(system).unreached == ()
