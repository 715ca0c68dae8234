"""Compare, now, what the model says of demand with what is measured and what is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.catalog.models import ConsumerClass, Topic
from apps.demand.domain.wanted import (
    UNKNOWN,
    Basis,
    Key,
    Known,
    Measured,
    Subject,
    Terms,
    relative_change,
    used_consumers,
    used_rate,
)
from apps.demand.models import DemandEstimate, DemandSettings
from apps.demand.selectors.measured import counting, window_now
from apps.demand.selectors.used import (
    Figures,
    estimate_in_use,
    figures_of,
    latest_estimate,
    settings_of,
)
from apps.systems.models import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of a topic, msg/s, or of a class, consumers."""

    subject: Subject
    public_id: UUID
    name: str
    topic: UUID
    topic_name: str
    broker: UUID | None
    broker_name: str
    """Where a topic enters, or a class is admitted; empty: not known."""
    least: float
    """What a topic is promised at least; 0 of a class."""
    typed: float
    measured: Measured | None
    counting: float | None
    """The measured figure that counts: that of the last estimate where too few minutes measured
    it."""
    forecast: float | None
    would_use: float
    """What snapshots would take if they went by what is known now."""
    used: float
    """What they take."""

    @property
    def change(self) -> float:
        """Return by how much what is measured differs from the model's figure, as a share of the
        larger."""
        return 0.0 if self.measured is None else relative_change(self.typed, self.measured.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentDemand:
    """The demand of a system at a moment."""

    settings: DemandSettings
    estimate: DemandEstimate | None
    since: datetime
    until: datetime
    rows: list[Wanted]
    """Topics, then classes, each by name."""


def present_demand(system: System, now: datetime) -> PresentDemand:
    """Return what is wanted of every topic and class of a system."""
    settings, estimate = settings_of(system), estimate_in_use(system)
    window = window_now(settings, now)
    now_known = _Now(
        measured={(one.subject, one.name): one for one in window.figures},
        counting=counting(window, latest_estimate(system)),
        forecast=window.expected,
        terms=_measured_terms(settings),
    )
    figures = {} if estimate is None else figures_of(estimate)
    rows = [
        *_topics(system, now_known, figures, estimate),
        *_classes(system, now_known, figures, estimate),
    ]
    return PresentDemand(
        settings=settings, estimate=estimate, since=window.since, until=window.until, rows=rows
    )


def _measured_terms(settings: DemandSettings) -> Terms:
    """Return the terms of the settings; where they use the model's figures, those that would hold
    if measured ones were used."""
    basis = Basis(settings.basis)
    return Terms(
        basis=Basis.MEASURED if basis == Basis.TYPED else basis,
        level=settings.level,
        floor_ratio=settings.floor_ratio,
        ceiling_ratio=settings.ceiling_ratio,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Now:
    """What is known now, and on which terms it would be used."""

    measured: Mapping[Key, Measured]
    counting: Mapping[Key, Measured]
    forecast: Mapping[Key, float]
    terms: Terms

    def known(self, key: Key) -> Known:
        one = self.counting.get(key)
        return Known(measured=one.high if one else None, forecast=self.forecast.get(key))


def _topics(
    system: System, now: _Now, figures: Figures, estimate: DemandEstimate | None
) -> list[Wanted]:
    columns = (
        *("public_id", "name", "source__public_id", "source__name"),
        *("rate_min_per_s", "rate_max_per_s"),
    )
    rows = Topic.objects.filter(system=system).order_by("name").values_list(*columns)
    wanted = []
    for public_id, name, broker, broker_name, least, typed in rows:
        key, used = (Subject.TOPIC, name), typed
        if estimate is not None:
            used = used_rate(typed, least, figures.get(key, UNKNOWN), estimate.terms)
        wanted.append(
            Wanted(
                subject=Subject.TOPIC,
                public_id=public_id,
                name=name,
                topic=public_id,
                topic_name=name,
                broker=broker,
                broker_name=broker_name or "",
                least=least,
                typed=typed,
                measured=now.measured.get(key),
                counting=now.known(key).measured,
                forecast=now.forecast.get(key),
                would_use=used_rate(typed, least, now.known(key), now.terms),
                used=used,
            )
        )
    return wanted


def _classes(
    system: System, now: _Now, figures: Figures, estimate: DemandEstimate | None
) -> list[Wanted]:
    columns = (
        *("public_id", "name", "topic__public_id", "topic__name"),
        *("broker__public_id", "broker__name", "population_max"),
    )
    rows = ConsumerClass.objects.filter(system=system).order_by("name").values_list(*columns)
    wanted = []
    for public_id, name, topic, topic_name, broker, broker_name, typed in rows:
        key, used = (Subject.CLASS, name), typed
        if estimate is not None:
            used = used_consumers(typed, figures.get(key, UNKNOWN), estimate.terms)
        wanted.append(
            Wanted(
                subject=Subject.CLASS,
                public_id=public_id,
                name=name,
                topic=topic,
                topic_name=topic_name,
                broker=broker,
                broker_name=broker_name,
                least=0.0,
                typed=typed,
                measured=now.measured.get(key),
                counting=now.known(key).measured,
                forecast=now.forecast.get(key),
                would_use=used_consumers(typed, now.known(key), now.terms),
                used=used,
            )
        )
    return wanted
