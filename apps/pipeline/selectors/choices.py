"""Read what there is to choose among sums of records: names, kinds of delays, metrics."""

from dataclasses import dataclass

from django.db import connection

from apps.pipeline.domain.steps import Span
from apps.pipeline.models import SUMS, MinuteSum
from apps.systems.models import System

MOST_NAMES = 1000
COLUMNS = ("topic", "consumer_class", "broker", "kind", "metric")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of a column in the order of their characters, as many as a list may have."""

    names: list[str]
    left_out: int


def names_of(system: System, span: Span) -> dict[str, Names]:
    """Return the names of a time by column; no name is empty."""
    return {column: _names(system, span, column) for column in COLUMNS}


def minutes_of(system: System) -> tuple[int, int] | None:
    """Return when the first and the last minute begin of which a system has sums, Unix seconds;
    None where it has none."""
    ends = [_ends(system, model) for model in SUMS.values()]
    known = [each for each in ends if each is not None]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


def _ends(system: System, model: type[MinuteSum]) -> tuple[int, int] | None:
    rows = model._default_manager.filter(system=system).values_list("since_s", flat=True)
    first = rows.order_by("since_s").first()
    last = rows.order_by("-since_s").first()
    return None if first is None or last is None else (first, last)


def _names(system: System, span: Span, column: str) -> Names:
    tables = [
        model._meta.db_table
        for model in SUMS.values()
        if column in {field.name for field in model._meta.get_fields()}
    ]
    each = " UNION ".join(
        f"""SELECT {column} AS name FROM {table}
            WHERE system_id = %(system)s AND since_s >= %(since)s AND since_s < %(until)s
            AND {column} <> '' GROUP BY 1"""
        for table in tables
    )
    statement = f"""
        SELECT name, count(*) OVER () FROM ({each}) AS every
        ORDER BY name COLLATE "C" LIMIT %(most)s
    """
    given = {"system": system.pk, "since": span.since_s, "until": span.until_s, "most": MOST_NAMES}
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        rows = cursor.fetchall()
    number = rows[0][1] if rows else 0
    return Names(names=[name for name, _ in rows], left_out=number - len(rows))
