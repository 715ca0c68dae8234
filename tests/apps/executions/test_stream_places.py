"""Where mapped flows are sent, compared with what a loop over all interests finds."""

import random
from typing import Any

import pytest

from apps.catalog.models import Group, Interest, Stream, Subscriber, Topic
from apps.executions.services.stream_places import BITS, stream_places
from apps.systems.models import System
from apps.topology.models import Broker
from tests.factories import make_broker, make_system, make_topic
from weir.coordination.wire import Delivery, StreamPlace

pytestmark = pytest.mark.django_db


def made(model: Any, system: System, *rows: dict[str, Any]) -> list[Any]:
    return list(model.objects.bulk_create([model(system=system, **row) for row in rows]))


def make_map(name: str, brokers: int, chance: random.Random) -> System:
    """Make a system; some streams have no group, some topics no stream, some users no broker."""
    system = make_system(name)
    at = [*(make_broker(system, f"b-{n}") for n in range(brokers)), None]
    groups = made(Group, system, *({"name": f"g-{n}", "number": n} for n in range(3)))
    streams = made(
        Stream,
        system,
        *(
            {"name": f"s-{n}", "number": n, "group": chance.choice([*groups, None])}
            for n in range(6)
        ),
    )
    topics = [
        make_topic(system, f"t-{n}", stream=chance.choice([*streams, None])) for n in range(25)
    ]
    subscribers = made(
        Subscriber,
        system,
        *({"name": f"u-{n}", "broker": chance.choice(at)} for n in range(2 * brokers + 10)),
    )
    Interest.objects.bulk_create(
        Interest(subscriber=subscriber, topic=topic)
        for subscriber in subscribers
        for topic in chance.sample(topics, chance.randrange(4))
    )
    return system


def places_one_by_one(
    system: System, deliveries: dict[str, Delivery], brokers: list[str]
) -> dict[str, dict[str, StreamPlace]]:
    places: dict[str, dict[str, StreamPlace]] = {}
    for interest in Interest.objects.filter(topic__system=system):
        topic, broker = interest.topic, interest.subscriber.broker
        stream = topic.stream
        if broker is None or broker.name not in brokers or topic.name not in deliveries:
            continue
        if stream is not None and stream.group is not None:
            place = StreamPlace(group=stream.group.number, stream=stream.number)
            places.setdefault(broker.name, {})[topic.name] = place
    return places


@pytest.mark.parametrize("brokers", [1, 5, BITS, BITS + 1, 2 * BITS + 4])
def test_every_broker_places_what_its_subscribers_want(brokers):
    chance = random.Random(brokers)
    system = make_map("ours", brokers, chance)
    make_map("theirs", 3, chance)
    flows = [topic.name for topic in Topic.objects.filter(system=system)]
    carried = dict.fromkeys(chance.sample(flows, 20), Delivery.BEST_EFFORT)
    every = [*Broker.objects.filter(system=system).values_list("name", flat=True), "unknown"]
    for names in (every, chance.sample(every, len(every) // 2), []):
        expected = places_one_by_one(system, carried, names)
        assert stream_places(system, carried, names) == expected
    assert places_one_by_one(system, carried, every)
