"""Read from sums by minute what publishers and consumers want.

A minute counts for a topic or class where every broker that lately measured it measures something:
of a broker whose agent is silent nobody knows what is wanted there.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection

from apps.demand.domain.wanted import Key, Measured, Subject
from apps.pipeline.models import MeasuredSum
from apps.systems.models import System
from apps.topology.models import Broker

LATELY_S = 86_400
"""For so long a broker that fell silent is waited for."""
REFRESH_S = 600
"""How often is looked which brokers measured what lately: that reads a whole day."""

_SUBJECT = "CASE consumer_class WHEN '' THEN %(topic)s ELSE %(class)s END"
_NAME = "CASE consumer_class WHEN '' THEN topic ELSE consumer_class END"
_OF_DEMAND = f"""
    FROM {MeasuredSum._meta.db_table}
    WHERE system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s
        AND (consumer_class = '' AND topic <> '' AND metric = 'offered_per_s'
            OR consumer_class <> '' AND metric IN ('admitted', 'waiting'))
"""
# What anybody sends below 0 is nothing that could be wanted.
_BY_MINUTE = f"""
    SELECT since_s, {_SUBJECT} AS subject, {_NAME} AS name,
        greatest(sum(total / samples), 0)::double precision AS wanted
    {_OF_DEMAND}
    GROUP BY 1, 2, 3
"""
# The least figure that is enough in this share of the minutes: one that was measured, none between.
_ENOUGH = "percentile_disc(%(level)s) WITHIN GROUP (ORDER BY wanted)"


def demand_minutes(
    system: System, *, since: datetime, until: datetime, level: float
) -> Iterator[Measured]:
    """Return what was measured of each topic and class in whole minutes, by subject and name.

    Of a topic, what was offered before its gates; of a class, who was admitted and who waited; at
    all brokers together.
    """
    given = _given(system, since, until)
    awaited = _awaited(system, int(until.timestamp()))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH by_minute AS ({_BY_MINUTE}), awaited AS (
                SELECT * FROM unnest(%(subjects)s::text[], %(names)s::text[], %(brokers)s::text[])
                    AS of (subject, name, broker)
            ), present AS (
                SELECT DISTINCT since_s, broker FROM {MeasuredSum._meta.db_table}
                WHERE system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s
            ), silent AS (
                SELECT DISTINCT subject, name, minute.since_s
                FROM awaited CROSS JOIN (SELECT DISTINCT since_s FROM present) AS minute
                WHERE NOT EXISTS (
                    SELECT FROM present
                    WHERE present.since_s = minute.since_s AND present.broker = awaited.broker
                )
            )
            SELECT subject, name, count(*), avg(wanted),
                percentile_disc(%(below)s) WITHIN GROUP (ORDER BY wanted), {_ENOUGH}
            FROM by_minute
            WHERE NOT EXISTS (
                SELECT FROM silent
                WHERE silent.subject = by_minute.subject AND silent.name = by_minute.name
                    AND silent.since_s = by_minute.since_s
            )
            GROUP BY subject, name ORDER BY subject, name
            """,
            {
                **given,
                "level": level,
                "below": 1.0 - level,
                "subjects": [key[0].value for key, brokers in awaited.items() for _ in brokers],
                "names": [key[1] for key, brokers in awaited.items() for _ in brokers],
                "brokers": [broker for brokers in awaited.values() for broker in sorted(brokers)],
            },
        )
        for subject, name, minutes, mean, low, high in cursor.fetchall():
            yield Measured(
                subject=Subject(subject), name=name, minutes=minutes, low=low, mean=mean, high=high
            )


def demand_hours(
    system: System, *, since: datetime, until: datetime, level: float
) -> Iterator[tuple[str, str, int, float]]:
    """Return subject, name, number of the hour since 1970 and what was enough in a share of its
    minutes, the level; of each topic and class and of each whole hour in which it was measured by
    all brokers that measured it in the day before."""
    given = {**_given(system, since, until), "level": level}
    silent = _silent_hours(given, _brokers(system))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH by_minute AS ({_BY_MINUTE})
            SELECT subject, name, since_s / 3600 AS hour, {_ENOUGH}
            FROM by_minute GROUP BY subject, name, hour ORDER BY subject, name, hour
            """,
            given,
        )
        for subject, name, hour, wanted in cursor.fetchall():
            if (subject, name, hour) not in silent:
                yield subject, name, hour, wanted


def _awaited(system: System, until_s: int) -> dict[Key, frozenset[str]]:
    """Return the brokers of the model that lately measured each topic and class."""
    lately = _measured_lately(system.pk, until_s // REFRESH_S * REFRESH_S)
    known = _brokers(system)
    return {key: brokers & known for key, brokers in lately.items()}


def _brokers(system: System) -> frozenset[str]:
    return frozenset(Broker.objects.filter(system=system).values_list("name", flat=True))


@lru_cache(maxsize=32)
def _measured_lately(system: int, until_s: int) -> Mapping[Key, frozenset[str]]:
    """Return the brokers that measured each topic and class in the day before, in a turn that ends
    then."""
    brokers: dict[Key, set[str]] = defaultdict(set)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT {_SUBJECT}, {_NAME}, broker {_OF_DEMAND}",
            {**_SUBJECTS, "system": system, "since": until_s - LATELY_S, "until": until_s},
        )
        for subject, name, broker in cursor.fetchall():
            brokers[Subject(subject), name].add(broker)
    return {key: frozenset(each) for key, each in brokers.items()}


def _silent_hours(given: Mapping[str, Any], brokers: frozenset[str]) -> set[tuple[str, str, int]]:
    """Return subject, name and hour where one of these brokers measured nothing at all, that had
    measured the topic or class in the day before."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT DISTINCT broker, since_s / 3600 FROM {MeasuredSum._meta.db_table}
            WHERE system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s
            """,
            given,
        )
        present = set(cursor.fetchall())
        cursor.execute(
            f"SELECT DISTINCT {_SUBJECT}, {_NAME}, broker, since_s / 3600 {_OF_DEMAND}", given
        )
        measured = cursor.fetchall()
    return {
        (subject, name, later)
        for subject, name, broker, hour in measured
        for later in range(hour + 1, hour + 1 + LATELY_S // 3600)
        if broker in brokers and (broker, later) not in present
    }


_SUBJECTS = {"topic": Subject.TOPIC.value, "class": Subject.CLASS.value}


def _given(system: System, since: datetime, until: datetime) -> dict[str, Any]:
    return {
        **_SUBJECTS,
        "system": system.pk,
        "since": int(since.timestamp()),
        "until": int(until.timestamp()),
    }
