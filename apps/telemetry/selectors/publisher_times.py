"""Read when publishers sent, as their brokers' agents reported it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import Max

from apps.systems.models import System
from apps.telemetry.domain.publisher_times import Row, count_of, unpack
from apps.telemetry.models import PublisherTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Hold what agents reported of publishers: one entry for each message of an agent that names
    one."""

    publishers: "NDArray[np.int64]"
    """Whom it names: the place in the names that were given."""
    messages: "NDArray[np.int64]"
    at_s: "NDArray[np.float64]"
    """Unix seconds by the broker's clock; NaN where the publisher sent too often for its moments to
    be told apart, or the clock is wrong."""
    wrong_clock: "NDArray[np.bool_]"
    """Whether the broker's clock is wrong."""
    since: datetime
    """What was received since then is in here: later than asked for where that is too much."""
    shortened: bool
    """Whether older reports were left out because there are too many."""


@dataclass(slots=True)
class _Columns:
    """Collect the entries of one row after another."""

    places: dict[str, int]
    rows: list[tuple["NDArray[np.int64]", ...]] = field(default_factory=list)
    times: list["NDArray[np.float64]"] = field(default_factory=list)

    def add(self, row: Row) -> int:
        """Keep what the row says of the wanted publishers; return how many moments that are."""
        # Most rows name others alone where a system has many topics.
        if self.places.keys().isdisjoint(row.names):
            return 0
        of_name = np.fromiter(
            (self.places.get(name, -1) for name in row.names), np.int64, len(row.names)
        )
        chosen = np.flatnonzero(of_name >= 0)
        at_s = row.at_s[chosen]
        self.rows.append(
            (of_name[chosen], row.messages[chosen], row.wrong_clock[chosen].astype(np.int64))
        )
        self.times.append(at_s)
        return int(np.isfinite(at_s).sum())


def publisher_times(
    system: System, names: Sequence[str], since: datetime, *, most_named: int, most_moments: int
) -> Reports:
    """Return what agents reported of these publishers since then, in order of reception.

    Where reports name more than `most_named` publishers, also others, or give more than
    `most_moments` of these, the oldest are left out.
    """
    rows = PublisherTimes.objects.filter(broker__system=system, at__gte=since)
    newest_first = rows.order_by("-at", "-id").values_list("at", "payload")
    columns = _Columns({name: place for place, name in enumerate(names)})
    named = moments = 0
    begins, shortened = since, False
    for at, payload in newest_first.iterator(chunk_size=BATCH):
        named += count_of(payload)
        shortened = named > most_named or moments >= most_moments
        if shortened:
            break
        moments += columns.add(unpack(payload))
        begins = at
    columns.rows.reverse()
    columns.times.reverse()
    parts = list(zip(*columns.rows, strict=True)) or [(), (), ()]
    publishers, messages, wrong = (_joined(part, np.int64) for part in parts)
    return Reports(
        publishers=publishers,
        messages=messages,
        at_s=_joined(columns.times, np.float64),
        wrong_clock=wrong.astype(np.bool_),
        since=begins if shortened else since,
        shortened=shortened,
    )


def publishers_unreported(system: System, since: datetime) -> int:
    """Return how many publishers' connections agents left out of their reports since then, because
    their brokers have more than are reported; of each broker, the most at a time."""
    rows = PublisherTimes.objects.filter(broker__system=system, at__gte=since, unreported__gt=0)
    of_broker = rows.order_by().values("broker").annotate(most=Max("unreported"))
    return sum(row["most"] for row in of_broker)


def _joined(parts: Sequence[Any], kind: type[np.generic]) -> Any:
    """Return the parts as one array, which may be empty."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)
