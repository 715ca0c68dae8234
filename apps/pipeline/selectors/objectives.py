"""Read how objectives held: budgets and burn rates, and the minutes behind them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection
from django.db.models import Case, CharField, F, Q, QuerySet, Value, When
from django.utils import timezone

from apps.catalog.models import Quantity, Slo
from apps.pipeline.domain.error_budget import (
    ALERTS,
    Compliance,
    Counted,
    Standing,
    compliance,
    minutes_of,
    stretches,
    window_minutes,
)
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.domain.verdicts import Evidence
from apps.pipeline.models import JudgedMinute, ObjectiveTerm
from apps.plans.domain.parts import DelayMinutes, DelayObjective
from apps.systems.models import System

_PROMISE = ("quantity", "target", "objective", "window_s")
DELAYS: dict[str, str] = {
    Quantity.DELAY_P99_S: "p99",
    Quantity.DELAY_P50_S: "p50",
    Quantity.DELAY_MEAN_S: "mean",
}
LAG_S = 300
"""Within which a minute is judged after it: stretches end with the last that was, if that is no
longer ago. What agents measured comes one or two minutes later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestMinute:
    """The last minute of an objective that was judged."""

    at: datetime
    value: float
    has_held: bool
    has_too_few: bool
    messages: float
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SloReading:
    """What became of an objective since its window began, or since it was edited."""

    slo: Slo
    since: datetime | None
    """None: nobody has judged it since it was edited."""
    until: datetime
    compliance: Compliance
    judged_until: datetime | None
    """When the last minute that was judged ended; None: none was."""
    at_gate: int
    """Measured minutes in which only the delay at the gate is known."""
    latest: LatestMinute | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStep:
    """What became of an objective in a step of time."""

    since: datetime
    measured_minutes: int
    missed_minutes: int
    worst: float
    """In the unit of the quantity: the largest value, of a rate the least."""


def with_standing(slos: QuerySet[Slo]) -> QuerySet[Slo]:
    """Return objectives with their `standing`, as it was worked out last: within a minute, and a
    few seconds after each verdict."""
    current = Q(term__topic=F("topic__name"), **{f"term__{name}": F(name) for name in _PROMISE})
    return slos.annotate(
        standing=Case(
            When(current, then=F("term__standing")),
            default=Value(Standing.NOT_MEASURED.value),
            output_field=CharField(),
        )
    )


def slo_readings(slos: Sequence[Slo], now: datetime | None = None) -> list[SloReading]:
    """Return the reading of each objective, in their order, in three queries.

    The objectives must have their topics at hand.
    """
    now_s = int((now or timezone.now()).timestamp()) // MINUTE_S * MINUTE_S
    keys = [slo.pk for slo in slos]
    terms = ObjectiveTerm.objects.in_bulk(keys)
    # A term is written a moment after the edit; until then its verdicts are of another promise.
    current = {slo.pk: terms[slo.pk] for slo in slos if _is_current(slo, terms.get(slo.pk))}
    latest = _latest(list(current))
    ends_s = {
        key: min(now_s, max(latest[key][0] + MINUTE_S, now_s - LAG_S)) if key in latest else now_s
        for key in current
    }
    counted = _count(list(current.values()), ends_s)
    return [_reading(slo, current.get(slo.pk), counted, latest, ends_s, now_s) for slo in slos]


def latest_minutes(slos: Sequence[Slo], most: int) -> dict[int, list[JudgedMinute]]:
    """Return the last judged minutes of each objective by its key, the newest first: up to `most`
    of those that began within so many minutes and `LAG_S` before now.

    The objectives must have their topics at hand.
    """
    terms = ObjectiveTerm.objects.in_bulk([slo.pk for slo in slos])
    current = [slo.pk for slo in slos if _is_current(slo, terms.get(slo.pk))]
    first_s = int(timezone.now().timestamp()) - most * MINUTE_S - LAG_S
    latest: dict[int, list[JudgedMinute]] = {slo.pk: [] for slo in slos}
    rows = JudgedMinute.objects.filter(slo__in=current, since_s__gt=first_s)
    for row in rows.order_by("-since_s"):
        if len(latest[row.slo_id]) < most:
            latest[row.slo_id].append(row)
    return latest


class DelayObjectives:
    """Objectives about delays, for those who judge what plans did."""

    def about(self, system: System, topics: Iterable[str]) -> list[DelayObjective]:
        """Return the objectives about delays of some topics, as they are now."""
        rows = Slo.objects.filter(
            topic__system=system, topic__name__in=list(topics), quantity__in=list(DELAYS)
        ).order_by("topic__name", "quantity", "id")
        return [
            DelayObjective(
                slo=slo.pk,
                name=slo.name,
                topic=slo.topic.name,
                which=DELAYS[slo.quantity],
                target_s=slo.target,
            )
            for slo in rows.select_related("topic")
        ]

    def minutes(
        self,
        objectives: Sequence[DelayObjective],
        before: tuple[datetime, datetime],
        after: tuple[datetime, datetime],
    ) -> list[DelayMinutes | None]:
        """Return the judged minutes of each that lie whole in two windows; None: it is no longer as
        it was. Three queries."""
        keys = [one.slo for one in objectives]
        slos = Slo.objects.select_related("topic").in_bulk(keys)
        terms = ObjectiveTerm.objects.in_bulk(keys)
        values: dict[int, list[tuple[int, float]]] = defaultdict(list)
        judged = JudgedMinute.objects.filter(
            slo__in=keys,
            since_s__gte=before[0].timestamp(),
            since_s__lte=after[1].timestamp() - MINUTE_S,
        )
        for row in judged.order_by("since_s"):
            values[row.slo_id].append((row.since_s, row.value))

        def within(key: int, window: tuple[datetime, datetime]) -> list[float]:
            first_s, past_s = (moment.timestamp() for moment in window)
            return [
                value
                for since_s, value in values[key]
                if first_s <= since_s and since_s + MINUTE_S <= past_s
            ]

        def is_as_it_was(one: DelayObjective) -> bool:
            slo, term = slos.get(one.slo), terms.get(one.slo)
            return (
                slo is not None
                and (slo.topic.name, DELAYS.get(slo.quantity)) == (one.topic, one.which)
                and slo.target == one.target_s
                and (term is None or term.since_s <= after[0].timestamp())
            )

        return [
            DelayMinutes(before_s=within(one.slo, before), after_s=within(one.slo, after))
            if is_as_it_was(one)
            else None
            for one in objectives
        ]


def judged_until(slo: Slo) -> datetime | None:
    """Return when the last minute of an objective that was judged ended; None: none was."""
    row = JudgedMinute.objects.filter(slo=slo).order_by("-since_s").first()
    return None if row is None else _at(row.since_s + MINUTE_S)


def judged_steps(slo: Slo, since_s: int, until_s: int, step_s: int) -> list[JudgedStep]:
    """Return the steps of a time in which minutes of an objective were judged, ascending."""
    worst = "min" if slo.quantity == "rate_per_s" else "max"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT %(since_s)s + (since_s - %(since_s)s) / %(step_s)s * %(step_s)s AS step,
                count(*), count(*) FILTER (WHERE NOT has_held), {worst}(value)
            FROM {JudgedMinute._meta.db_table}
            WHERE slo_id = %(slo)s AND since_s >= %(since_s)s AND since_s < %(until_s)s
            GROUP BY step ORDER BY step
            """,
            {"slo": slo.pk, "since_s": since_s, "until_s": until_s, "step_s": step_s},
        )
        rows = cursor.fetchall()
    return [
        JudgedStep(since=_at(step), measured_minutes=measured, missed_minutes=missed, worst=value)
        for step, measured, missed, value in rows
    ]


def _is_current(slo: Slo, term: ObjectiveTerm | None) -> bool:
    if term is None or term.topic != slo.topic.name:
        return False
    return all(getattr(slo, name) == getattr(term, name) for name in _PROMISE)


def _reading(
    slo: Slo,
    term: ObjectiveTerm | None,
    counted: dict[int, tuple[Counted, int]],
    latest: dict[int, tuple[int, LatestMinute]],
    ends_s: dict[int, int],
    now_s: int,
) -> SloReading:
    nothing = Counted(
        measured=0, missed=0, too_few=0, missed_in=dict.fromkeys(stretches(slo.window_s), 0)
    )
    counts, at_gate = counted.get(slo.pk, (nothing, 0))
    until_s = ends_s.get(slo.pk, now_s)
    began_s = until_s - window_minutes(slo.window_s) * MINUTE_S
    return SloReading(
        slo=slo,
        since=None if term is None or term.since_s > now_s else _at(max(term.since_s, began_s)),
        until=_at(until_s),
        compliance=compliance(counts, objective=slo.objective, window_s=slo.window_s),
        judged_until=_at(latest[slo.pk][0] + MINUTE_S) if slo.pk in latest else None,
        at_gate=at_gate,
        latest=latest[slo.pk][1] if slo.pk in latest else None,
    )


def _latest(keys: list[int]) -> dict[int, tuple[int, LatestMinute]]:
    """Return the last judged minute of each objective, with when it begins, Unix seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT slo, last.since_s, last.value, last.has_held, last.has_too_few, last.messages,
                last.evidence
            FROM unnest(%s::bigint[]) AS slo CROSS JOIN LATERAL (
                SELECT * FROM {JudgedMinute._meta.db_table} WHERE slo_id = slo
                ORDER BY since_s DESC LIMIT 1
            ) AS last
            """,
            [keys],
        )
        return {
            key: (
                since_s,
                LatestMinute(
                    at=_at(since_s),
                    value=value,
                    has_held=has_held,
                    has_too_few=has_too_few,
                    messages=messages,
                    evidence=Evidence(evidence),
                ),
            )
            for key, since_s, value, has_held, has_too_few, messages, evidence in cursor.fetchall()
        }


def _count(
    terms: Sequence[ObjectiveTerm], ends_s: dict[int, int]
) -> dict[int, tuple[Counted, int]]:
    """Count the judged minutes of the windows that end then; beside them those at the gate."""
    pairs = [stretch_s for alert in ALERTS for stretch_s in (alert.long_s, alert.short_s)]
    columns: list[list[int]] = [[] for _ in range(3 + len(pairs))]
    for term in terms:
        end_s, window_s = ends_s[term.slo_id], term.window_s
        row = [term.slo_id, end_s - window_minutes(window_s) * MINUTE_S, end_s]
        row += [end_s - minutes_of(stretch_s, window_s) * MINUTE_S for stretch_s in pairs]
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    names = ["slo", "first", "past", *(f"from_{number}" for number in range(len(pairs)))]
    missed = ", ".join(
        f"count(*) FILTER (WHERE NOT has_held AND since_s >= {name})" for name in names[3:]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT slo, count(*), count(*) FILTER (WHERE NOT has_held),
                count(*) FILTER (WHERE has_too_few), count(*) FILTER (WHERE evidence = %s), {missed}
            FROM unnest({", ".join(["%s::bigint[]"] * len(names))}) AS wanted ({", ".join(names)})
            JOIN {JudgedMinute._meta.db_table} AS minute
                ON slo_id = slo AND since_s >= first AND since_s < past
            GROUP BY slo
            """,
            [Evidence.GATE, *columns],
        )
        rows = cursor.fetchall()
    windows_s = {term.slo_id: term.window_s for term in terms}
    return {
        key: (
            Counted(
                measured=measured,
                missed=missed_all,
                too_few=too_few,
                missed_in={
                    minutes_of(stretch_s, windows_s[key]): number
                    for stretch_s, number in zip(pairs, numbers, strict=True)
                },
            ),
            at_gate,
        )
        for key, measured, missed_all, too_few, at_gate, *numbers in rows
    }


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
