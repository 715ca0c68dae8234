"""What a model still needs to be computed, to be planned, to be carried out."""

import pkgutil

import pytest
from rest_framework.test import APIClient

from agent import drivers
from apps.systems.models import WITH_DRIVER, Product, System
from tests.factories import make_broker, make_class, make_system, make_topic
from tests.factories.fleet import Harbour
from tests.factories.plans import agents_come

pytestmark = pytest.mark.django_db


def missing(api: APIClient, system: System) -> dict[tuple[str, str], str]:
    rows = api.get(f"/api/v1/systems/{system.public_id}/checklist").json()["results"]
    return {(row["stage"], row["title"]): row["detail"] for row in rows if not row["done"]}


def test_an_empty_system_begins_with_brokers(api: APIClient) -> None:
    lacks = missing(api, make_system("own"))
    assert (
        lacks["compute", "Brokers with capacities"]
        == "There is no broker. Add one with its capacity."
    )
    assert ("plan", "An overlay in force") in lacks
    assert ("carry_out", "An agent beside each broker") in lacks


def test_says_what_a_half_built_model_lacks(api: APIClient) -> None:
    system = make_system("own")
    a, b = make_broker(system, "a"), make_broker(system, "b")
    make_class(system, make_topic(system, "t1", source=a), b, "c1")
    make_topic(system, "t2")
    lacks = missing(api, system)
    assert "t1 and t2 cost no broker anything" in lacks["compute", "Topics with costs"]
    assert "Nobody wants t2" in lacks["compute", "Consumer classes with costs"]
    assert "cannot reach class c1 at b" in lacks["compute", "A way from each source to each class"]
    assert "Nobody knows where t2 enters" in lacks["plan", "A source broker for each topic"]
    assert "No agent is enrolled for a and b" in lacks["carry_out", "An agent beside each broker"]


def test_a_product_without_a_driver_is_model_only(api: APIClient) -> None:
    system = make_system("own", product=Product.KAFKA)
    driver = ("carry_out", "A product that agents can steer")
    assert "Kafka is model only" in missing(api, system)[driver]
    assert api.get(f"/api/v1/systems/{system.public_id}").json()["model_only"] is True
    other = make_system("other", product=Product.NATS)
    assert driver not in missing(api, other)
    assert api.get(f"/api/v1/systems/{other.public_id}").json()["model_only"] is False


def test_products_with_a_driver_are_those_of_the_agent() -> None:
    folders = {module.name for module in pkgutil.iter_modules(drivers.__path__) if module.ispkg}
    assert folders == WITH_DRIVER


def test_a_fleet_with_agents_lacks_only_costs_and_addresses(
    api: APIClient, harbour: Harbour
) -> None:
    agents_come(harbour)
    assert set(missing(api, harbour.system)) == {
        ("compute", "Topics with costs"),
        ("carry_out", "An address for each agent"),
    }
