"""Read agents and what they measured."""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.models import Agent, Removal, Sample
from apps.topology.models import Broker

# A broker whose newest sample is older than this measures nothing now.
FRESH_S = 10.0


def agents_of(system: System) -> QuerySet[Agent]:
    """Return the system's agents that were not revoked, by the name of their broker."""
    return (
        Agent.objects.filter(system=system, revoked_at=None)
        .select_related("broker")
        .order_by("broker__name")
    )


def agents_ahead(system_pk: int) -> QuerySet[Agent]:
    """Return the agents that have obeyed documents which this database does not know: it was
    restored from a backup, or failed over to a copy that lagged behind."""
    return (
        Agent.objects.filter(
            system=system_pk, revoked_at=None, obeyed_number__gt=F("served_number")
        )
        .select_related("broker")
        .order_by("broker__name")
    )


def systems_ahead() -> frozenset[int]:
    """Return the keys of the systems that have such agents."""
    ahead = Agent.objects.filter(revoked_at=None, obeyed_number__gt=F("served_number"))
    return frozenset(ahead.values_list("system_id", flat=True))


def removed_brokers(system: System) -> frozenset[str]:
    """Return the names of brokers that plans removed as gone for good and that have not
    returned."""
    rows = Removal.objects.filter(system=system, over_at=None)
    return frozenset(rows.values_list("broker__name", flat=True))


def systems_without() -> set[int]:
    """Return the systems that lack a removed broker."""
    return set(Removal.objects.filter(over_at=None).values_list("system_id", flat=True))


def held_by_removed() -> list[tuple[str, str, str, str, int]]:
    """Return (system, broker, `flow` or `link`, its name, messages) of every removal, oldest
    first."""
    rows = Removal.objects.select_related("system", "broker").order_by("id")
    return [
        (row.system.name, row.broker.name, kind, name, count)
        for row in rows
        for kind, table in (("flow", "flows"), ("link", "links"))
        for name, count in sorted(row.held.get(table, {}).items())
    ]


def latest_samples(system: System, *, within_s: float = FRESH_S) -> list[Sample]:
    """Return the newest sample of each broker that measured something lately, by broker name; a
    suspect one only where there is no other."""
    newest = _newest(within_s).filter(broker__system=system)
    return sorted(newest, key=lambda sample: sample.broker.name)


def latest_samples_everywhere(*, within_s: float = FRESH_S) -> list[Sample]:
    """Return the newest samples of all systems, by system and broker name."""
    newest = _newest(within_s).select_related("broker__system")
    return sorted(newest, key=lambda sample: (sample.broker.system.name, sample.broker.name))


def _newest(within_s: float) -> QuerySet[Sample]:
    since = timezone.now() - timedelta(seconds=within_s)
    return (
        Sample.objects.filter(at__gte=since)
        .alias(suspect=ExpressionWrapper(Q(payload__has_key="suspect"), BooleanField()))
        .order_by("broker_id", "suspect", "-at", "-id")
        .distinct("broker_id")
        .select_related("broker")
    )


def series(broker: Broker, *, minutes: float) -> Iterable[Sample]:
    """Return the broker's samples of the last minutes, oldest first."""
    since = timezone.now() - timedelta(minutes=minutes)
    return Sample.objects.filter(broker=broker, at__gte=since).order_by("at", "id")
