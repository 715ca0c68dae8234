"""Judge the minutes of objectives by the sums of records, again whenever those change.

Sums of topics that have an objective leave a row for each minute that they changed
(`ChangedMinute`), in the transaction that adds them. Whoever judges removes it in the transaction
that stores the verdict: a minute is judged after the last change, whoever is killed when.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from apps.catalog.models import Slo
from apps.common.events import publish_seldom
from apps.common.locks import lock_until_commit
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.domain.verdicts import Delays, Rates, verdict
from apps.pipeline.models import ChangedMinute, DelaySum, JudgedMinute, MeasuredSum, ObjectiveTerm
from apps.pipeline.services.alerts import alerts_keep
from apps.pipeline.services.terms import Terms, terms_of
from apps.runs.services.gateway import minutes
from apps.systems.models import System
from apps.systems.services import keep

KIND = "slo_compliance"
NEWS_EVERY_S = 5.0
LOCK = "slojudge"
PASS_S = 15.0
"""A pass begins no further transaction after this long: others wait for its thread, too."""
AT_ONCE = 500
"""Minutes of topics that are judged in one transaction."""
JUDGED_BY = ("delays", "measured")
"""Sums by which minutes are judged."""
KEPT_LONGER_S = 86_400
"""Than their objective's window, so that charts of short windows show more than these."""
METRICS = ("offered_per_s", "passed_per_s", "shed_per_s")
_VERDICT = ("value", "has_held", "has_too_few", "messages", "evidence")

Minute = tuple[int, str]
"""When it begins, Unix seconds, and a topic."""


def objectives_judge(now: datetime | None = None) -> int:
    """Judge minutes that ended and whose sums changed, of every system; return how many minutes of
    objectives got a verdict. Of several processes one does so at a time."""
    began_s, count = time.monotonic(), 0
    now_s = int((now or timezone.now()).timestamp())
    for system in System.objects.filter(pk__in=Slo.objects.values("system")):
        touched: set[int] = set()
        while time.monotonic() - began_s < PASS_S:
            taken, judged = _judge(system, now_s, touched)
            count += judged
            if taken < AT_ONCE:
                break
    return count


def note_changes(system: System, sums: Mapping[str, Any]) -> None:
    """Note which minutes of topics with an objective these sums change; in the transaction that
    adds them."""
    topics = Slo.objects.filter(system=system).values_list("topic__name", flat=True).distinct()
    judged_by = [sums[name] for name in JUDGED_BY if name in sums]
    changed = minutes().minutes_of_topics(judged_by, list(topics))
    if not changed:
        return
    with connection.cursor() as cursor:
        # In one order, so that two that note the same minutes never wait in a circle. A row that is
        # there is written again: whoever judges must leave it until this transaction has ended.
        cursor.execute(
            f"""
            INSERT INTO {ChangedMinute._meta.db_table} AS old (system_id, since_s, topic)
            SELECT %s, * FROM unnest(%s::bigint[], %s::text[])
            ON CONFLICT (system_id, since_s, topic) DO UPDATE SET topic = excluded.topic
            """,
            [system.pk, *_columns(changed)],
        )


def judged_tidy(now: datetime | None = None) -> int:
    """Delete verdicts of minutes that ended before the windows of their objectives began, and what
    systems without objectives left to judge; return how many."""
    now_s = int((now or timezone.now()).timestamp())
    idle = ChangedMinute.objects.exclude(system__in=Slo.objects.values("system"))
    count = idle.delete()[0]
    for term in ObjectiveTerm.objects.all():
        old = JudgedMinute.objects.filter(
            slo_id=term.slo_id, since_s__lt=now_s - term.window_s - KEPT_LONGER_S
        )
        count += old.delete()[0]
    return count


def _columns(changed: Iterable[Minute]) -> tuple[list[int], list[str]]:
    rows = list(changed)
    return [since_s for since_s, _ in rows], [topic for _, topic in rows]


def _judge(system: System, now_s: int, touched: set[int]) -> tuple[int, int]:
    """Judge some minutes of a system, and once none is left how its objectives stand; return how
    many changed ones were taken, and how many got a verdict.

    `touched` holds objectives with new verdicts, by their keys.
    """
    with transaction.atomic():
        if not lock_until_commit(LOCK) or not keep(system.pk):
            return 0, 0
        terms = terms_of(system)
        taken = _take(system, now_s)
        judged = _judge_taken(system, terms, taken) if taken else set()
        touched |= {slo for slo, _ in judged}
        changed = 0
        if len(taken) < AT_ONCE:
            every = [term for of_topic in terms.values() for term, _ in of_topic]
            changed = alerts_keep(system, every, touched, now_s)
        if judged or changed:
            public_id = system.public_id
            transaction.on_commit(
                lambda: publish_seldom(
                    KIND, key=str(public_id), every_s=NEWS_EVERY_S, system=public_id
                )
            )
    return len(taken), len(judged)


def _judge_taken(system: System, terms: Terms, taken: list[Minute]) -> set[tuple[int, int]]:
    """Store verdicts of minutes; return the objectives and minutes that have one."""
    delays, rates = _delays(system, taken), _rates(system, taken)
    rows = [
        JudgedMinute(
            slo_id=term.slo_id,
            since_s=minute[0],
            **{name: getattr(one, name) for name in _VERDICT},
        )
        for minute in taken
        for term, pattern in terms.get(minute[1], ())
        if term.since_s <= minute[0]
        and (one := verdict(term.quantity, term.target, pattern, delays[minute], rates.get(minute)))
    ]
    JudgedMinute.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["slo_id", "since_s"],
        update_fields=_VERDICT,
    )
    return {(row.slo_id, row.since_s) for row in rows}


def _take(system: System, now_s: int) -> list[Minute]:
    """Remove the oldest changed minutes that have ended, and return them."""
    table = ChangedMinute._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            DELETE FROM {table} WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM {table} WHERE system_id = %s AND since_s <= %s
                ORDER BY since_s, topic LIMIT %s FOR UPDATE SKIP LOCKED
            ))
            RETURNING since_s, topic
            """,
            [system.pk, now_s - MINUTE_S, AT_ONCE],
        )
        return sorted(cursor.fetchall())


def _delays(system: System, changed: list[Minute]) -> Mapping[Minute, dict[str, Delays]]:
    """Return the histograms of these minutes by kind."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT since_s, topic, kind, array_agg(bin ORDER BY bin),
                array_agg(messages ORDER BY bin), max(longest_s)
            FROM (
                SELECT since_s, topic, kind, bin,
                    sum(messages)::bigint AS messages, max(longest_s) AS longest_s
                FROM {DelaySum._meta.db_table}
                JOIN unnest(%s::bigint[], %s::text[]) AS changed (since_s, topic)
                    USING (since_s, topic)
                WHERE system_id = %s GROUP BY since_s, topic, kind, bin
            ) AS merged
            GROUP BY since_s, topic, kind
            """,
            [*_columns(changed), system.pk],
        )
        delays: dict[Minute, dict[str, Delays]] = defaultdict(dict)
        for since_s, topic, kind, bins, messages, longest_s in cursor.fetchall():
            delays[since_s, topic][kind] = Delays(bins=bins, messages=messages, longest_s=longest_s)
        return delays


def _rates(system: System, changed: list[Minute]) -> dict[Minute, Rates]:
    """Return what agents measured of the topics in these minutes."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT since_s, topic, metric, sum(total / samples)::double precision
            FROM {MeasuredSum._meta.db_table}
            JOIN unnest(%s::bigint[], %s::text[]) AS changed (since_s, topic)
                USING (since_s, topic)
            WHERE system_id = %s AND consumer_class = '' AND metric = ANY(%s)
            GROUP BY since_s, topic, metric
            """,
            [*_columns(changed), system.pk, list(METRICS)],
        )
        metrics: dict[Minute, dict[str, float]] = defaultdict(dict)
        for since_s, topic, metric, rate in cursor.fetchall():
            metrics[since_s, topic][metric] = rate
    return {
        minute: Rates(**rates) for minute, rates in metrics.items() if len(rates) == len(METRICS)
    }
