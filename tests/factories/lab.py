"""A system whose telemetry was made with known coefficients, and fits of it without Spark."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.catalog.models import ConsumerClass, Publisher, Topic
from apps.runs.models import Run
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from apps.topology.models import Broker
from spark_tasks.jobs.fit import fit_payload
from tests.factories import make_broker, make_class, make_system, make_topic

A, B, IDLE = 1.2, 0.05, 20.0
CAPACITY = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Topic `prices` enters at `here` and passes `there`, where class `desks` reads it."""

    system: System
    here: Broker
    there: Broker
    topic: Topic
    consumers: ConsumerClass


def make_lab() -> Lab:
    system = make_system("lab")
    here, there = make_broker(system, "here", CAPACITY), make_broker(system, "there", CAPACITY)
    topic = make_topic(
        system,
        "prices",
        node_costs=[
            {"broker": here, "resource": "cpu", "cost": 3.0},
            {"broker": there, "resource": "cpu", "cost": 3.0},
        ],
        source=here,
        delivery="reliable",
    )
    consumers = make_class(system, topic, there, "desks")
    for name in ("p1", "p2"):
        entity_create(
            model=Publisher, system=system, actor=None, values={"name": name, "topic": topic}
        )
    return Lab(system=system, here=here, there=there, topic=topic, consumers=consumers)


def sample(broker: Broker, at: datetime, *, rate: float, people: int, cpu: float) -> Sample:
    source = broker.name == "here"
    flows: dict[str, Any] = {"prices": {"passed_per_s": rate, "ack_s": 0.02, "message_bytes": 512}}
    payload = telemetry_checked(
        {
            "interval_s": 1.0,
            "flows": flows if source else {},
            "classes": {} if source else {"desks": {"admitted": people}},
            "broker": {"cpu_ratio": cpu, "cores": 2},
        }
    )
    return Sample(broker=broker, at=at, payload=payload)


def load(broker: Broker, rate: float, people: int) -> float:
    return IDLE + A * rate + (B * rate * people if broker.name == "there" else 0.0)


def measure(lab: Lab) -> Lab:
    """Ten minutes of telemetry at many operating points, one sample a second and broker."""
    now = timezone.now()
    rows = []
    for second in range(600):
        rate = [100.0, 10.0, 50.0, 80.0, 20.0][second // 60 % 5]
        people = [1, 200, 100, 50, 150, 20, 80][second // 60 % 7]
        for broker in (lab.here, lab.there):
            wobble = 1 + 0.02 * ((second * 7919) % 11 - 5) / 5
            cpu = 2 * load(broker, rate, people) / CAPACITY * wobble
            at = now - timedelta(seconds=600 - second)
            rows.append(sample(broker, at, rate=rate, people=people, cpu=cpu))
    Sample.objects.bulk_create(rows)
    return lab


def kernel_answer(run: Run) -> bytes:
    """What the Spark job would answer, computed in this process."""
    answer, error = fit_payload(bytes(run.snapshot.payload))
    assert answer is not None, error
    return answer
