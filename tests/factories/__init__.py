"""One factory per model that tests make often; everything goes through the services."""

from typing import Any

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import user_create
from apps.catalog.models import ConsumerClass, Topic, UtilityFunction
from apps.demo.services import base_workload
from apps.systems.models import System
from apps.systems.services import entity_create, system_create
from apps.topology.models import Broker, Link

PASSWORD = "correct horse battery"


def make_user(username: str, *roles: Role) -> User:
    return user_create(username=username, password=PASSWORD, roles=[role.value for role in roles])


def make_system(name: str = "harbour", **values: Any) -> System:
    return system_create(actor=None, values={"name": name, "product": "simulated", **values})


def make_base_workload() -> System:
    return base_workload.load()


def make_broker(system: System, name: str = "b1", cpu: float = 1000.0) -> Broker:
    return entity_create(
        model=Broker,
        system=system,
        actor=None,
        values={"name": name},
        children={"capacities": [{"resource": "cpu", "capacity": cpu}]},
    )


def make_link(system: System, source: Broker, target: Broker, name: str = "l1") -> Link:
    return entity_create(
        model=Link,
        system=system,
        actor=None,
        values={"name": name, "source": source, "target": target, "capacity": 500.0},
    )


def make_topic(
    system: System, name: str = "t1", node_costs: Any = (), link_costs: Any = (), **values: Any
) -> Topic:
    defaults: dict[str, Any] = {"rate_min_per_s": 1.0, "rate_max_per_s": 100.0}
    return entity_create(
        model=Topic,
        system=system,
        actor=None,
        values={"name": name, **defaults, **values},
        children={"node_costs": node_costs, "link_costs": link_costs},
    )


def make_utility(system: System, name: str = "u1", weight: float = 10.0) -> UtilityFunction:
    return entity_create(
        model=UtilityFunction,
        system=system,
        actor=None,
        values={"name": name, "kind": "log", "parameters": {"weight": weight}},
    )


def make_class(system: System, topic: Topic, broker: Broker, name: str = "c1") -> ConsumerClass:
    utility = UtilityFunction.objects.filter(system=system).first() or make_utility(system)
    return entity_create(
        model=ConsumerClass,
        system=system,
        actor=None,
        values={
            "name": name,
            "topic": topic,
            "broker": broker,
            "utility": utility,
            "population_max": 10,
        },
        children={"costs": [{"resource": "cpu", "cost": 2.0}]},
    )
