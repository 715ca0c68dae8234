"""A topic whose publishers burst, with analyses whose groups are given by the test."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from apps.accounts.models import User
from apps.catalog.models import CorrelationKey, Publisher, Topic
from apps.correlation.models import CorrelationAnalysis, Suggestion
from apps.correlation.services import correlation_request
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create
from apps.topology.models import Broker
from tests.factories import make_system
from tests.factories.publishers_sent import publishers_sent
from tests.factories.runs import claim
from weir.codec.correlation import (
    CorrelationAnswer,
    answer_bytes,
    search_from_dict,
    snapshot_from_json,
)
from weir.correlation.suggested import ExampleRow, Group, Period, Suggested

QUAY = ("quay-1", "quay-2", "quay-3", "quay-4")
PIER = ("pier-1", "pier-2", "pier-3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bay:
    """Topic `depth` has seven publishers, of which quay-1 carries the key `old`; topic `tide` has
    one. Agents at b1 heard all of them burst every few seconds."""

    system: System
    topic: Topic
    other: Topic
    broker: Broker
    old: CorrelationKey

    def publisher(self, name: str) -> Publisher:
        return Publisher.objects.select_related("correlation_key").get(
            system=self.system, name=name
        )

    def keys(self) -> dict[str, str]:
        """The key of each publisher of the topic that has one."""
        rows = Publisher.objects.filter(topic=self.topic, correlation_key__isnull=False)
        return dict(rows.values_list("name", "correlation_key__name"))

    def version(self) -> int:
        return System.objects.get(pk=self.system.pk).model_version


def make_bay(name: str = "bay", *, names: Sequence[str] = (*QUAY, *PIER)) -> Bay:
    system = make_system(name)
    drafts = Drafts(system)
    broker = drafts.add(Broker, name="b1")
    topic, other = (drafts.add(Topic, name=n, rate_max_per_s=100.0) for n in ("depth", "tide"))
    old = drafts.add(CorrelationKey, name="old")
    for each in names:
        drafts.add(
            Publisher,
            name=each,
            topic=topic,
            broker=broker,
            correlation_key=old if each == "quay-1" else None,
        )
    drafts.add(Publisher, name="gauge", topic=other, broker=broker)
    entities_create(drafts=drafts, actor=None)
    return Bay(system=system, topic=topic, other=other, broker=broker, old=old)


def heard(bay: Bay, names: Sequence[str] = (*QUAY, *PIER), **untimed: int) -> float:
    """Agents heard these publishers at twenty moments of the last minutes; returns the first."""
    first = float(int(timezone.now().timestamp()) - 120)
    moments = {name: [first + 5 * burst for burst in range(20)] for name in names}
    publishers_sent(bay.broker, moments, untimed=untimed)
    return first


def group(members: Sequence[str], **values: Any) -> Group:
    """A group as a kernel gives it."""
    evidence: dict[str, Any] = {
        "kind": "event",
        "share": 0.92,
        "by_chance": 0.01,
        "spread_s": 0.012,
        "bursts": 47,
        "period_s": None,
        "phase_s": None,
        "rate_per_s": 3.5,
        "example_since_s": 1700000000.0,
        "example_until_s": 1700000060.0,
        "example": (ExampleRow(publisher=members[0], at_s=(1700000001.0, 1700000009.5)),),
    }
    return Group(members=tuple(sorted(members)), **{**evidence, **values})


def answer_of(run: Run, *groups: Group) -> bytes:
    """What the job would answer that sees these groups."""
    snapshot = snapshot_from_json(bytes(run.snapshot.payload))
    publishers = len(snapshot.activity.names) if snapshot.activity else 1000
    suggested = Suggested(
        since_s=1700000000.0,
        until_s=1700001800.0,
        messages=4711,
        publishers=publishers,
        judged=publishers - 1,
        too_few=1,
        periodic=1,
        periods=(Period(period_s=60.0, publishers=1, grouped=0),),
        groups=groups,
    )
    answer = CorrelationAnswer(
        topic=snapshot.topic,
        search=search_from_dict(run.parameters),
        suggested=suggested,
        untimed=snapshot.untimed,
    )
    return answer_bytes(answer)


def lay_recording(name: str = "day.parquet") -> None:
    """The folder of recordings has this one, which nobody reads."""
    folder = Path(settings.WEIR_RECORDINGS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / name).exists():
        (folder / name).write_bytes(b"PAR1")


def searched(bay: Bay, *groups: Group, actor: User | None = None, **asked: Any) -> Run:
    """A run on the recording `day.parquet`, which may name anybody, that gave these groups."""
    lay_recording()
    run = claim(
        correlation_request(
            system=bay.system,
            actor=actor,
            topic=bay.topic,
            **{"source": "recording", "recording": "day.parquet", **asked},
        )
    )
    run_store(run, answer_of(run, *groups))
    return Run.objects.get(pk=run.pk)


def suggested(bay: Bay, *members: Sequence[str], actor: User | None = None) -> list[Suggestion]:
    """The suggestions of an analysis that found these groups of publishers."""
    run = searched(bay, *(group(each) for each in members), actor=actor)
    analysis = CorrelationAnalysis.objects.get(run=run)
    return list(analysis.suggestions.order_by("number"))
