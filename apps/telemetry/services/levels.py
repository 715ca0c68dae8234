"""Compute what brokers handled over hours and days: means per cell, coarser the further back.

Samples are kept for half an hour. `levels_roll` sums them up into minutes, minutes into quarters
of an hour, these into cells of two hours; each size is kept as long as its page shows it, about
320 rows a broker in all. Calling it twice, or from two processes, gives the same rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import F, Func, Max, Sum, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce
from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.models import KEEP_SAMPLES, Level, Sample
from apps.topology.models import Broker

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Describe a stretch of time that a page shows, and the length of its cells."""

    seconds: int
    cell_s: int

    @property
    def cells(self) -> int:
        """Return the number of cells."""
        return self.seconds // self.cell_s


SPANS = {
    "hour": Span(seconds=3_600, cell_s=60),
    "day": Span(seconds=86_400, cell_s=900),
    "week": Span(seconds=604_800, cell_s=7_200),
}


def levels_roll(now: datetime | None = None) -> None:
    """Update the cells, including the running ones, and delete the oldest."""
    at = now or timezone.now()
    finer: Span | None = None
    for span in SPANS.values():
        newest = Level.objects.filter(cell_s=span.cell_s).aggregate(at=Max("at"))["at"] or EPOCH
        if finer is None:
            # A minute that samples cover only in part keeps its value.
            reach = _start(at - KEEP_SAMPLES, span.cell_s) + timedelta(seconds=span.cell_s)
            _store(span, _of_samples(span, max(newest, reach)))
        else:
            _store(span, _of_levels(span, finer, newest))
        finer = span
    for span in SPANS.values():
        oldest = at - timedelta(seconds=span.seconds + span.cell_s)
        Level.objects.filter(cell_s=span.cell_s, at__lt=oldest).delete()


def _start(at: datetime, cell_s: int) -> datetime:
    """Return the start of the cell that holds a moment."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % cell_s, tz=UTC)


def _cell(span: Span) -> Func:
    return Func(
        Value(timedelta(seconds=span.cell_s)),
        F("at"),
        Value(EPOCH),
        function="date_bin",
        output_field=models.DateTimeField(),
    )


class _Total(Func):
    """Sum a member over the entries of a table of a sample's payload, 0 without entries."""

    template = (
        "(SELECT COALESCE(SUM((entry.value ->> '%(member)s')::float8), 0)"
        " FROM jsonb_each(COALESCE(%(expressions)s, '{}'::jsonb)) AS entry)"
    )
    arity = 1
    output_field = models.FloatField()

    def __init__(self, table: str, member: str) -> None:
        super().__init__(KeyTransform(table, "payload"), member=member)


class _Unmeasured(Func):
    """Test whether a payload holds a class without its rate."""

    function = "jsonb_path_exists"
    template = "%(function)s(%(expressions)s, '$.classes.* ? (!exists(@.delivered_per_s))')"
    arity = 1
    output_field = models.BooleanField()


Rows = Iterable[tuple[int, datetime, float, float]]
"""Broker, start of the cell, messages, and the seconds in which they were counted."""


def _of_samples(span: Span, since: datetime) -> Rows:
    # The map's tanks count messages of the model, not acknowledgements or those of agents.
    handled = (
        _Total("flows", "passed_per_s")
        + _Total("links", "received_per_s")
        + _Total("classes", "delivered_per_s")
    )
    interval = Cast(KeyTextTransform("interval_s", "payload"), models.FloatField())
    seconds = Coalesce(interval, 0.0)
    rows = Sample.objects.filter(at__gte=since).annotate(cell=_cell(span)).order_by()
    # Seconds without a count of consumers' messages are not measured.
    rows = rows.exclude(payload__has_key="suspect").filter(~_Unmeasured("payload"))
    return (
        rows.values("broker_id", "cell")
        .annotate(messages=Sum(handled * seconds), measured_s=Sum(seconds))
        .values_list("broker_id", "cell", "messages", "measured_s")
    )


def _of_levels(span: Span, finer: Span, since: datetime) -> Rows:
    rows = Level.objects.filter(cell_s=finer.cell_s, at__gte=since)
    return (
        rows.annotate(cell=_cell(span))
        .order_by()
        .values("broker_id", "cell")
        .annotate(messages=Sum(F("handled_per_s") * F("measured_s")), seconds=Sum("measured_s"))
        .values_list("broker_id", "cell", "messages", "seconds")
    )


def _store(span: Span, rows: Rows) -> None:
    Level.objects.bulk_create(
        [
            Level(
                broker_id=broker,
                cell_s=span.cell_s,
                at=at,
                handled_per_s=messages / seconds,
                measured_s=seconds,
            )
            for broker, at, messages, seconds in rows
            if seconds > 0
        ],
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["broker", "cell_s", "at"],
        update_fields=["handled_per_s", "measured_s"],
    )


def levels(
    system: System, brokers: Sequence[UUID], span: Span, *, now: datetime | None = None
) -> dict[str, Any]:
    """Return the cells of the brokers, oldest first; None where nothing was measured.

    The last cell is the running one. Brokers of other systems are left out.
    """
    last = _start(now or timezone.now(), span.cell_s)
    first = last - timedelta(seconds=span.seconds - span.cell_s)
    selected = Broker.objects.filter(system=system, public_id__in=brokers)
    rows = {row["pk"]: row for row in selected.values("pk", "public_id", "name")}
    names = {pk: row["name"] for pk, row in rows.items()}
    cells: dict[int, list[float | None]] = {pk: [None] * span.cells for pk in names}
    known = Level.objects.filter(broker__in=names, cell_s=span.cell_s, at__gte=first, at__lte=last)
    for pk, at, rate in known.values_list("broker_id", "at", "handled_per_s"):
        cells[pk][int((at - first).total_seconds()) // span.cell_s] = rate
    return {
        "cell_s": span.cell_s,
        "since": first,
        "until": last + timedelta(seconds=span.cell_s),
        "brokers": [
            {
                "broker": rows[pk]["public_id"],
                "broker_name": names[pk],
                "handled_per_s": cells[pk],
            }
            for pk in sorted(names, key=lambda pk: names[pk])
        ],
    }
