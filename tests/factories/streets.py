"""A small system whose topic has publishers at three brokers, some of which send together."""

from dataclasses import dataclass
from typing import Any

from apps.accounts.models import User
from apps.catalog.models import CorrelationKey, Publisher, Slo, Topic
from apps.placements.models import Placement
from apps.placements.services import placement_request
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create
from apps.topology.models import Broker
from tests.factories import make_system
from tests.factories.runs import claim
from weir.kernel import Call
from weir.placement import explained

RATES_PER_S: dict[str, float | None] = {"b1": 1000.0, "b2": 1000.0, "b3": 800.0, "b4": None}
"""What each broker takes of publishers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streets:
    """Topic `sensors` sends 600 msg/s from twelve publishers: eight at b1, half of which send
    together, two at b2, one at b4, which has no publish rate, one nowhere; another is silent.
    Topic `other` sends 300 msg/s at b1."""

    system: System
    topic: Topic
    other: Topic
    brokers: dict[str, Broker]

    def publisher(self, name: str) -> Publisher:
        return Publisher.objects.get(system=self.system, name=name)


def make_streets(name: str = "streets") -> Streets:
    system = make_system(name)
    drafts = Drafts(system)
    brokers = {
        broker: drafts.add(Broker, name=broker, publish_rate_max_per_s=rate)
        for broker, rate in RATES_PER_S.items()
    }
    topic, other = (
        drafts.add(
            Topic,
            name=each,
            rate_max_per_s=1000.0,
            token_rate_per_s=700.0,
            token_bucket=40.0,
            batch=1,
        )
        for each in ("sensors", "other")
    )
    drafts.add(Slo, name="loose", topic=topic, quantity="delay_p99_s", target=0.5)
    drafts.add(Slo, name="tight", topic=topic, quantity="delay_p99_s", target=0.05)
    drafts.add(Slo, name="median", topic=topic, quantity="delay_p50_s", target=0.001)
    key = drafts.add(CorrelationKey, name="on the hour")
    homes = ["b1"] * 8 + ["b2"] * 2 + ["b4", None]
    for index, home in enumerate(homes):
        drafts.add(
            Publisher,
            name=f"s{index + 1:02d}",
            topic=topic,
            broker=None if home is None else brokers[home],
            correlation_key=key if index < 4 else None,
            rate_per_s=50.0,
        )
    drafts.add(Publisher, name="silent", topic=topic, broker=brokers["b1"], rate_per_s=0.0)
    drafts.add(Publisher, name="o1", topic=other, broker=brokers["b1"], rate_per_s=300.0)
    entities_create(drafts=drafts, actor=None)
    return Streets(system=system, topic=topic, other=other, brokers=brokers)


def kernel_answer(run: Run) -> bytes:
    """What the job would answer."""
    call = Call(method=run.method, parameters=run.parameters, seed=run.seed)
    return explained.answer(bytes(run.snapshot.payload), call)


def place(streets: Streets, actor: User | None = None, **asked: Any) -> Placement:
    """The placement of a run that has ended."""
    run = placed(streets, actor, **asked)
    return Placement.objects.get(run=run)


def placed(streets: Streets, actor: User | None = None, **asked: Any) -> Run:
    """A run that has ended, whatever came out."""
    run = claim(placement_request(system=streets.system, actor=actor, topic=streets.topic, **asked))
    run_store(run, kernel_answer(run))
    return Run.objects.get(pk=run.pk)
