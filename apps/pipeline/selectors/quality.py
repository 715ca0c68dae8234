"""Read how complete measurements of a time are: brokers that were silent, rows set aside."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Q, Sum
from django.utils import timezone

from apps.pipeline.domain.steps import MINUTE_S, Span
from apps.pipeline.models import MeasuredSum
from apps.records.models import RecordBatch, SetAsideRow
from apps.runs.services.gateway import sent_records
from apps.systems.models import System
from apps.topology.models import Broker

MOST_BROKERS = 100
"""Brokers of an answer, the first by name."""
ARRIVAL = timedelta(seconds=90)
"""How long after a minute what agents measured in it is in the sums, when nothing is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerQuality:
    """How much of a time was measured at a broker."""

    broker: Broker
    minutes: int
    """Of the time in which there was this broker, up to the last minute that may have arrived."""
    measured_minutes: int
    gaps: int
    """How often in a row of minutes nothing was measured."""
    longest_gap_minutes: int
    longest_gap_at: datetime | None
    suspect_ratio: float | None
    """The share of samples that contradict their broker's own totals; None: agents sent none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuality:
    """How complete the measurements of a system are in a time."""

    minutes: int
    """Of the time that is over, and of which all may have arrived."""
    brokers: list[BrokerQuality]
    brokers_left_out: int
    rows: int
    """Of the batches that arrived in the time, those that were replayed not counted twice."""
    repeats: int
    late: int
    set_aside: list[dict[str, Any]]
    """What was set aside of these by table and problem: `rows`, and how many still `waiting`."""


def quality_of(system: System, span: Span, now: datetime | None = None) -> RecordQuality:
    """Return how complete the measurements of a time are."""
    arrived_s = int(((now or timezone.now()) - ARRIVAL).timestamp()) // MINUTE_S * MINUTE_S
    until_s = max(min(span.until_s, arrived_s), span.since_s)
    brokers = Broker.objects.filter(system=system).order_by("name")
    shown = list(brokers[:MOST_BROKERS])
    missing = _missing(system, [each.name for each in shown], span.since_s, until_s)
    suspect = _suspect(system, span.since_s, until_s)
    since, until = (datetime.fromtimestamp(end_s, UTC) for end_s in (span.since_s, span.until_s))
    batches = RecordBatch.objects.filter(system=system, created_at__gte=since, created_at__lt=until)
    arrived = batches.aggregate(
        rows=Sum("rows", filter=Q(replay_of=None), default=0), repeats=Sum("repeats", default=0)
    )
    aside = list(
        SetAsideRow.objects.filter(batch__in=batches.filter(replay_of=None))
        .values("batch__table", "problem")
        .annotate(
            rows=Count("id"),
            waiting=Count("id", filter=Q(ended_at=None)),
            latest=Max("batch__created_at"),
        )
        .order_by("-rows", "batch__table", "problem")
    )
    late = sent_records().LATE
    return RecordQuality(
        minutes=(until_s - span.since_s) // MINUTE_S,
        brokers=[
            _of_broker(each, missing[each.name], suspect.get(each.name), span.since_s, until_s)
            for each in shown
        ],
        brokers_left_out=max(0, brokers.count() - len(shown)),
        rows=arrived["rows"],
        repeats=arrived["repeats"],
        late=sum(row["rows"] for row in aside if row["problem"].startswith(late)),
        set_aside=[{**row, "table": row["batch__table"]} for row in aside],
    )


def _of_broker(
    broker: Broker,
    missing: list[tuple[int, int]],
    suspect: float | None,
    since_s: int,
    until_s: int,
) -> BrokerQuality:
    """Return the quality of a broker by its runs of minutes without measurements. Before it was
    made, nobody can have measured it."""
    made_s = int(broker.created_at.timestamp()) // MINUTE_S * MINUTE_S + MINUTE_S
    first_s = min(max(since_s, made_s), until_s)
    gaps = [(max(start_s, first_s), end_s) for start_s, end_s in missing if end_s > first_s]
    lengths = [(end_s - start_s) // MINUTE_S for start_s, end_s in gaps]
    longest = max(range(len(gaps)), key=lengths.__getitem__, default=None)
    minutes = (until_s - first_s) // MINUTE_S
    return BrokerQuality(
        broker=broker,
        minutes=minutes,
        measured_minutes=minutes - sum(lengths),
        gaps=len(gaps),
        longest_gap_minutes=0 if longest is None else lengths[longest],
        longest_gap_at=None if longest is None else datetime.fromtimestamp(gaps[longest][0], UTC),
        suspect_ratio=suspect,
    )


def _missing(
    system: System, brokers: list[str], since_s: int, until_s: int
) -> dict[str, list[tuple[int, int]]]:
    """Return by broker the runs of minutes without a measurement, as Unix seconds from and to."""
    runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    statement = f"""
        SELECT name, min(minute), max(minute) + {MINUTE_S} FROM (
            SELECT name, minute, minute - {MINUTE_S} * row_number()
                   OVER (PARTITION BY name ORDER BY minute) AS run
            FROM unnest(%(brokers)s::text[]) AS name
            CROSS JOIN generate_series(
                %(since)s::bigint, %(until)s::bigint - {MINUTE_S}, {MINUTE_S}
            ) AS minute
            WHERE NOT EXISTS (
                -- A probe a minute: the primary key begins with these three columns.
                SELECT FROM {MeasuredSum._meta.db_table}
                WHERE system_id = %(system)s AND since_s = minute AND broker = name
            )
        ) AS missing GROUP BY name, run ORDER BY name, 2
    """
    given: dict[str, Any] = {
        "system": system.pk,
        "brokers": brokers,
        "since": since_s,
        "until": until_s,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        for broker, start_s, end_s in cursor.fetchall():
            runs[broker].append((start_s, end_s))
    return runs


def _suspect(system: System, since_s: int, until_s: int) -> dict[str, float]:
    """Return by broker the share of samples that were left out, of those that have come."""
    sums = (
        MeasuredSum.objects.filter(
            system=system, since_s__gte=since_s, since_s__lt=until_s, metric="suspect_ratio"
        )
        .values("broker")
        .annotate(all=Sum("total"), of=Sum("samples"))
        .values_list("broker", "all", "of")
    )
    return {broker: float(total / samples) for broker, total, samples in sums}
