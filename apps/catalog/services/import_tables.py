"""Compare and write the interests of an import in the database, by set operations in SQL.

The lines stand in a temporary table of the worker's connection. Everything else happens in one
transaction that holds the system's lock:

    import_line         the file: line, subscriber, topic (outlasts the transaction)
    import_subscriber   each subscriber that is named; id below 0: it is not there
    import_topic        each topic that is named
    import_pair         each interest that is listed, once, with its first line
    import_added        what has to begin, numbered
    import_removed      what has to end, numbered
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db import connection

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.catalog.domain.interest_lines import MOST_ERRORS, Line
from apps.catalog.models import ImportMode, Subscriber
from apps.common.errors import FieldError
from apps.systems.models import System
from apps.systems.selectors import entity_state, with_children, with_references
from apps.systems.services.edit import entry_of
from apps.systems.services.save import clean

LINES_AT_ONCE = 50_000
INTERESTS_AT_ONCE = 50_000
SUBSCRIBERS_AT_ONCE = 1_000
MOST_SHOWN = 100
# Sorts and hashes of a million lines stay in memory; Postgres takes it per operation.
MEMORY = "SET LOCAL work_mem = '64MB'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What an import would change: counts of interests and subscribers."""

    lines: int
    repeated: int
    added: int
    removed: int
    unchanged: int
    subscribers_changed: int
    subscribers_created: int

    @property
    def nothing(self) -> bool:
        """Return whether all is as listed already."""
        return not (self.added or self.removed)


def _execute(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _rows(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _numbers(statement: str, *parameters: Any) -> tuple[int, ...]:
    (row,) = _rows(statement, *parameters)
    return tuple(int(value or 0) for value in row)


def lines_forget() -> None:
    """Drop the lines of this connection's last import."""
    _execute("DROP TABLE IF EXISTS import_line")


def lines_copy(lines: Iterable[Line]) -> Iterator[int]:
    """Copy lines into a new table of this connection; return after each piece how many are there.

    Names hold no control characters, so that a backslash is all that needs a mark.
    """
    lines_forget()
    _execute(
        "CREATE TEMPORARY TABLE import_line "
        "(line integer NOT NULL, subscriber text NOT NULL, topic text NOT NULL)"
    )
    there, rest = 0, iter(lines)
    while piece := list(islice(rest, LINES_AT_ONCE)):
        text = "".join([f"{line}\t{subscriber}\t{topic}\n" for line, subscriber, topic in piece])
        with connection.cursor() as cursor, connection.wrap_database_errors:
            raw: Any = cursor
            raw.copy_expert(
                "COPY import_line FROM STDIN",
                io.BytesIO(text.replace("\\", "\\\\").encode()),
            )
        there += len(piece)
        yield there
    _execute("ANALYZE import_line")


def names_match(system: System) -> None:
    """Look up every name once, under the system's lock."""
    _execute(MEMORY)
    for kind in ("subscriber", "topic"):
        _execute(
            f"""
            CREATE TEMPORARY TABLE import_{kind} ON COMMIT DROP AS
            SELECT named.name, named.line,
                   coalesce(there.id, -row_number() OVER (
                       ORDER BY there.id IS NOT NULL, named.line
                   )) AS id,
                   there.id AS stored_id
            FROM (SELECT {kind} AS name, min(line) AS line FROM import_line GROUP BY 1) AS named
            LEFT JOIN catalog_{kind} AS there
                ON there.system_id = %s AND there.name = named.name
            """,
            system.pk,
        )
        _execute(f"ANALYZE import_{kind}")


def names_unknown(kind: str) -> tuple[list[FieldError], int]:
    """Return the first errors of lines that name what is not there, and how many there are."""
    lines = f"FROM import_line AS l JOIN import_{kind} AS named ON named.name = l.{kind} "
    unknown = "WHERE named.stored_id IS NULL"
    (count,) = _numbers(f"SELECT count(*) {lines} {unknown}")
    first = _rows(f"SELECT l.line, l.{kind} {lines} {unknown} ORDER BY 1 LIMIT {MOST_ERRORS}")
    more = (
        " Add it first, or let the import create subscribers that are missing."
        if kind == "subscriber"
        else " Add it first."
    )
    return [
        FieldError(
            field=kind, message=f'There is no {kind} "{name}" in this system.{more}', line=line
        )
        for line, name in first
    ], count


def interests_compare(mode: str) -> Differences:
    """Compare what is listed with what is there, under the system's lock."""
    _execute(
        """
        CREATE TEMPORARY TABLE import_pair ON COMMIT DROP AS
        SELECT subscriber.id AS subscriber_id, topic.id AS topic_id, min(l.line) AS line
        FROM import_line AS l
        JOIN import_subscriber AS subscriber ON subscriber.name = l.subscriber
        JOIN import_topic AS topic ON topic.name = l.topic
        GROUP BY 1, 2
        """
    )
    _execute("ANALYZE import_pair")
    # A subscriber that is not there has no interests: its id fits none.
    there = (
        "SELECT FROM catalog_interest AS i WHERE i.subscriber_id = pair.subscriber_id "
        "AND i.topic_id = pair.topic_id"
    )
    _execute(
        f"""
        CREATE TEMPORARY TABLE import_added ON COMMIT DROP AS
        SELECT row_number() OVER (ORDER BY pair.subscriber_id, pair.line) AS place,
               pair.subscriber_id, pair.topic_id
        FROM import_pair AS pair
        WHERE %s AND NOT EXISTS ({there})
        """,
        mode != ImportMode.REMOVE,
    )
    listed = (
        "SELECT FROM import_pair AS pair WHERE pair.subscriber_id = i.subscriber_id "
        "AND pair.topic_id = i.topic_id"
    )
    ends = {
        ImportMode.ADD: "false",
        ImportMode.REMOVE: f"EXISTS ({listed})",
        ImportMode.REPLACE: "i.subscriber_id IN (SELECT stored_id FROM import_subscriber) "
        f"AND NOT EXISTS ({listed})",
    }[ImportMode(mode)]
    _execute(
        f"""
        CREATE TEMPORARY TABLE import_removed ON COMMIT DROP AS
        SELECT row_number() OVER (ORDER BY i.id) AS place, i.id, i.subscriber_id
        FROM catalog_interest AS i
        WHERE {ends}
        """
    )
    for table in ("import_added", "import_removed"):
        _execute(f"CREATE UNIQUE INDEX ON {table} (place)")
        _execute(f"ANALYZE {table}")
    lines, pairs, added, removed = _numbers(
        "SELECT (SELECT count(*) FROM import_line), (SELECT count(*) FROM import_pair), "
        "(SELECT count(*) FROM import_added), (SELECT count(*) FROM import_removed)"
    )
    changed, created = _numbers(
        f"SELECT count(*) FILTER (WHERE id > 0), count(*) FILTER (WHERE id < 0) FROM ({TOUCHED}) t"
    )
    return Differences(
        lines=lines,
        repeated=lines - pairs,
        added=added,
        removed=removed,
        unchanged=pairs - (removed if mode == ImportMode.REMOVE else added),
        subscribers_changed=changed,
        subscribers_created=created,
    )


TOUCHED = (
    "SELECT subscriber_id AS id FROM import_added UNION SELECT subscriber_id FROM import_removed"
)


def subscribers_create(
    system: System, actor: User | None, reason: str, count: int
) -> Iterator[int]:
    """Create the subscribers that are not there; return after each piece how many it had."""
    for first in range(1, count + 1, SUBSCRIBERS_AT_ONCE):
        last = min(first + SUBSCRIBERS_AT_ONCE, count + 1) - 1
        names = _rows(
            "SELECT name FROM import_subscriber WHERE id BETWEEN %s AND %s ORDER BY id DESC",
            -last,
            -first,
        )
        fresh = [Subscriber(system=system, name=name) for (name,) in names]
        for subscriber in fresh:
            clean(subscriber)
        Subscriber.objects.bulk_create(fresh)
        stored = Subscriber.objects.filter(pk__in=[subscriber.pk for subscriber in fresh])
        # Without interests yet: the import's own entry says how many they begin with.
        record_all(
            [
                entry_of(
                    "create", subscriber, system, actor, reason, after=entity_state(subscriber)
                )
                for subscriber in with_children(with_references(stored)).order_by("id")
            ]
        )
        yield len(fresh)
    _execute(
        "UPDATE import_subscriber AS named SET stored_id = there.id "
        "FROM catalog_subscriber AS there WHERE named.id < 0 AND there.system_id = %s "
        "AND there.name = named.name",
        system.pk,
    )


def interests_write(differences: Differences) -> Iterator[int]:
    """Write what differs; return after each piece how many interests it had."""
    for first in range(1, differences.removed + 1, INTERESTS_AT_ONCE):
        last = min(first + INTERESTS_AT_ONCE, differences.removed + 1) - 1
        _execute(
            "DELETE FROM catalog_interest WHERE id IN "
            "(SELECT id FROM import_removed WHERE place BETWEEN %s AND %s)",
            first,
            last,
        )
        yield last - first + 1
    for first in range(1, differences.added + 1, INTERESTS_AT_ONCE):
        last = min(first + INTERESTS_AT_ONCE, differences.added + 1) - 1
        _execute(
            "INSERT INTO catalog_interest (subscriber_id, topic_id) "
            "SELECT subscriber.stored_id, added.topic_id FROM import_added AS added "
            "JOIN import_subscriber AS subscriber ON subscriber.id = added.subscriber_id "
            "WHERE added.place BETWEEN %s AND %s ORDER BY added.place",
            first,
            last,
        )
        # References are checked piece by piece, not all at the commit.
        _execute("SET CONSTRAINTS ALL IMMEDIATE")
        _execute("SET CONSTRAINTS ALL DEFERRED")
        yield last - first + 1
    _execute(
        "UPDATE catalog_subscriber SET version = version + 1, updated_at = clock_timestamp() "
        f"WHERE id IN (SELECT id FROM ({TOUCHED}) AS touched WHERE id > 0)"
    )


def subscribers_shown() -> Sequence[dict[str, Any]]:
    """Return the first subscribers, by name, whose interests differ, with how many."""
    rows = _rows(
        f"""
        SELECT named.name, sum(differs.added), sum(differs.removed)
        FROM (
            SELECT subscriber_id AS id, count(*) AS added, 0 AS removed
            FROM import_added GROUP BY 1
            UNION ALL
            SELECT subscriber_id, 0, count(*) FROM import_removed GROUP BY 1
        ) AS differs
        JOIN import_subscriber AS named ON named.id = differs.id
        GROUP BY 1 ORDER BY 1 LIMIT {MOST_SHOWN}
        """
    )
    return [
        {"name": name, "added": int(added), "removed": int(removed)}
        for name, added, removed in rows
    ]
