"""Read what arrived, what was set aside, and how records are taken."""

from typing import Any

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from apps.records.models import RecordBatch, RecordSettings, RecordTable, SetAsideRow
from apps.runs.services.gateway import data_folder
from apps.systems.models import System

WAITS = Q(ended_at=None)
RECORDS = "records"
"""The folder of the records of all systems, in that of the installation's data."""


def records_folder(system: System) -> str:
    """Return the address of the folder of a system's records."""
    return data_folder(f"{RECORDS}/{system.public_id}")


def settings_of(system: System) -> RecordSettings:
    """Return the system's settings; unsaved defaults where nobody has set any."""
    row = RecordSettings.objects.select_related("system").filter(system=system).first()
    # Nobody needs a row before somebody edits one; until then its id is the system's.
    return row or RecordSettings(
        system=system, public_id=system.public_id, updated_at=system.created_at
    )


def batch_rows() -> QuerySet[RecordBatch]:
    """Return batches with how many of their rows wait, were taken after all, and were
    discarded."""
    return RecordBatch.objects.select_related("system", "sent_by", "replay_of").annotate(
        waiting=_rows_of_batch(WAITS),
        taken_later=_rows_of_batch(Q(taken_in__isnull=False)),
        discarded=_rows_of_batch(Q(ended_at__isnull=False, taken_in=None)),
    )


def _rows_of_batch(condition: Q) -> Coalesce:
    rows = SetAsideRow.objects.filter(condition, batch=OuterRef("pk")).order_by()
    number = rows.values("batch").annotate(number=Count("id")).values("number")
    return Coalesce(Subquery(number), 0)


def problems_of(batch: RecordBatch) -> list[tuple[str, int]]:
    """Return the problems of the rows of a batch that were set aside, and how many rows have each,
    the most frequent first."""
    rows = SetAsideRow.objects.filter(batch=batch).values("problem").annotate(number=Count("id"))
    return list(rows.order_by("-number", "problem").values_list("problem", "number"))


def set_aside_rows() -> QuerySet[SetAsideRow]:
    """Return rows that were set aside, with the batches of before and after."""
    return SetAsideRow.objects.select_related("batch__system", "ended_by", "taken_in")


def counts_of(system: System) -> dict[str, Any]:
    """Return what arrived of each table, and what waits by problem, the most frequent first."""
    by_table = {
        row["table"]: row
        for row in RecordBatch.objects.filter(system=system)
        .values("table")
        .order_by("table")
        .annotate(
            batches=Count("id"),
            rows=Sum("rows", filter=Q(replay_of=None), default=0),
            accepted=Sum("accepted"),
            repeats=Sum("repeats"),
            latest=Max("created_at"),
            to_roll_up=Count("id", filter=Q(rolled_up_at=None)),
        )
    }
    aside = SetAsideRow.objects.filter(WAITS, batch__system=system)
    problems = (
        aside.values("batch__table", "problem")
        .annotate(rows=Count("id"), latest=Max("batch__created_at"))
        .order_by("-rows", "batch__table", "problem")
    )
    waiting = [
        {
            "table": row["batch__table"],
            "problem": row["problem"],
            "rows": row["rows"],
            "latest": row["latest"],
        }
        for row in problems
    ]
    tables = [by_table[table] for table in RecordTable.values if table in by_table]
    return {"tables": tables, "waiting": waiting}
