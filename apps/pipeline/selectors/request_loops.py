"""Read from sums by minute what classes of consumers counted of their requests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q

from apps.catalog.models import ConsumerClass, Pattern, UtilityFunction
from apps.pipeline.domain.request_loops import LoopMinute, RequestLoop, request_loop
from apps.pipeline.domain.steps import Span
from apps.pipeline.domain.verdicts import Evidence
from apps.pipeline.models import DelaySum, MeasuredSum, RequestedSum
from apps.systems.models import System
from weir.queueing.wait_histogram import LOWEST, STEPS
from weir.utility.latency import Latency

_LATENCY = Latency.KIND

# The middle of a bin by logarithms, which is its mean but for a ten-thousandth where it is filled
# evenly. What waited for a nanosecond did not wait.
_TOTAL_S = (
    "sum(messages * CASE bin"
    f" WHEN {LOWEST} THEN 0 ELSE power(2::float8, (bin + 0.5) / {STEPS}) END)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedLoop:
    """What the utility function of a class says of its requesters; None where it says nothing."""

    senders: int | None = None
    think_s: float | None = None
    exec_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLoop:
    """The requesters of a class, as typed and as measured."""

    consumer_class: ConsumerClass
    typed: TypedLoop
    loop: RequestLoop


def request_loops(
    system: System, span: Span, *, utility: UtilityFunction | None = None
) -> list[ClassLoop]:
    """Return the classes of a system that ask and wait for answers, by name, with what was
    measured of them in a time: those of request-response topics, or with a worth of latency; with
    `utility` those that have this one, whatever it is."""
    classes = ConsumerClass.objects.filter(system=system).select_related("topic", "utility")
    asking = (
        Q(topic__pattern=Pattern.REQUEST_RESPONSE) | Q(utility__kind=_LATENCY)
        if utility is None
        else Q(utility=utility)
    )
    rows = list(classes.filter(asking).order_by("name"))
    minutes = _minutes(system, span, rows)
    return [
        ClassLoop(
            consumer_class=row,
            typed=_typed(row.utility),
            loop=request_loop(minutes.get(row.name, ())),
        )
        for row in rows
    ]


def _typed(utility: UtilityFunction) -> TypedLoop:
    if utility.kind != _LATENCY:
        return TypedLoop()
    names = ("senders", "think_s", "exec_s")
    return TypedLoop(**{name: utility.parameters[name] for name in names})


def _minutes(
    system: System, span: Span, classes: Iterable[ConsumerClass]
) -> Mapping[str, list[LoopMinute]]:
    """Return the minutes of each class in which anybody counted requests."""
    topics = {row.name: row.topic.name for row in classes}
    given: dict[str, Any] = {
        "system": system.pk,
        "since": span.since_s,
        "until": span.until_s,
        "classes": list(topics),
        "topics": list(topics.values()),
        "answer": Evidence.ANSWER.value,
        "gate": Evidence.GATE.value,
    }
    of_time = "system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s"
    minutes: dict[str, list[LoopMinute]] = defaultdict(list)
    if not topics:
        return minutes
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            WITH class AS (
                SELECT * FROM unnest(%(classes)s::text[], %(topics)s::text[])
                    AS of (consumer_class, topic)
            ), answered AS (
                SELECT since_s, consumer_class, sum(messages) AS answers, {_TOTAL_S} AS total_s
                FROM {DelaySum._meta.db_table} JOIN class USING (consumer_class, topic)
                WHERE {of_time} AND kind = %(answer)s
                GROUP BY since_s, consumer_class
            ), gate AS (
                SELECT since_s AS at_s, topic, {_TOTAL_S} / sum(messages) AS gate_s
                FROM {DelaySum._meta.db_table}
                WHERE {of_time} AND kind = %(gate)s AND topic = ANY(%(topics)s::text[])
                GROUP BY since_s, topic
            ), counted AS (
                SELECT since_s, consumer_class,
                    sum(total) FILTER (WHERE metric = 'unanswered') AS unanswered,
                    sum(total) FILTER (WHERE metric = 'pauses') AS pauses,
                    sum(total) FILTER (WHERE metric = 'paused_s') AS paused_s
                FROM {MeasuredSum._meta.db_table} JOIN class USING (consumer_class, topic)
                WHERE {of_time} AND metric IN ('unanswered', 'pauses', 'paused_s')
                GROUP BY since_s, consumer_class
            ), requested AS (
                SELECT since_s, consumer_class, sum(unanswered) AS unanswered
                FROM {RequestedSum._meta.db_table} JOIN class USING (consumer_class, topic)
                WHERE {of_time}
                GROUP BY since_s, consumer_class
            )
            SELECT consumer_class, coalesce(answers, 0)::float8, coalesce(total_s / answers, 0),
                -- Whoever sends the requests themselves and counts them has both.
                greatest(counted.unanswered, requested.unanswered, 0)::float8,
                greatest(pauses, 0)::float8, greatest(paused_s, 0)::float8, gate_s
            FROM answered
                FULL JOIN counted USING (since_s, consumer_class)
                FULL JOIN requested USING (since_s, consumer_class)
                JOIN class USING (consumer_class)
                LEFT JOIN gate ON gate.at_s = since_s AND gate.topic = class.topic
            WHERE answers > 0 OR greatest(counted.unanswered, requested.unanswered) > 0
            ORDER BY consumer_class, since_s
            """,
            given,
        )
        for name, *figures in cursor.fetchall():
            minutes[name].append(_minute(figures))
    return minutes


def _minute(figures: list[Any]) -> LoopMinute:
    answers, response_s, unanswered, pauses, paused_s, gate_s = figures
    return LoopMinute(
        answers=answers,
        response_s=response_s,
        unanswered=unanswered,
        pauses=pauses,
        paused_s=paused_s,
        gate_s=gate_s,
    )
