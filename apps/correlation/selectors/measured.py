"""Read what agents reported of the moments at which a topic's publishers sent."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from django.utils import timezone

from apps.catalog.models import Topic
from apps.telemetry.selectors.publisher_times import publisher_times, publishers_unreported

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_MINUTES = 30
"""Agents' reports are kept so long."""
MOST_NAMED = 20_000_000
"""A search reads reports that name so many publishers in all, the newest: some three seconds."""
MOST_MOMENTS = 3_000_000
"""A search holds about so many moments, the newest: some 25 MB when they are stored."""
MOST_NAMED_AT_A_GLANCE = 1_000_000
"""A page that says what is measured reads no more: a fifth of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Hold what is known of the publishers that the catalogue has of a topic."""

    publishers: int
    messages: int
    """Of all that were heard."""
    heard: int
    wrong_clock: int
    """How many have no moment because the clocks of their brokers are wrong."""
    unreported: int
    """Publishers' connections, of any topic, of which agents report nothing."""
    shortened: bool
    """Whether older reports were left out because there are too many."""
    until: datetime
    names: tuple[str, ...]
    """Those with moments, ascending."""
    sent: "NDArray[np.int64]"
    """How many messages each of these sent."""
    starts: "NDArray[np.int64]"
    at_s: "NDArray[np.float64]"
    """Their moments, Unix seconds: those of number i are `at_s[starts[i]:starts[i + 1]]`."""

    @property
    def since_s(self) -> float | None:
        """Return the first of all moments; None where there is none."""
        return float(self.at_s.min()) if len(self.at_s) else None

    @property
    def until_s(self) -> float | None:
        """Return the last of all moments; None where there is none."""
        return float(self.at_s.max()) if len(self.at_s) else None

    @property
    def untimed(self) -> int:
        """Return how many sent so often that no moment of theirs is known."""
        return self.heard - len(self.names) - self.wrong_clock

    @property
    def untimed_messages(self) -> int:
        """Return what those sent of whom no moment is known."""
        return self.messages - int(self.sent.sum())


def measured_of(
    topic: Topic,
    *,
    minutes: float = MOST_MINUTES,
    until: datetime | None = None,
    most_named: int = MOST_NAMED,
    most_moments: int = MOST_MOMENTS,
) -> Measured:
    """Return what agents reported of the topic's publishers in the last minutes. It may take
    seconds: call it before rows are locked."""
    # As Python sorts them, which the database may not.
    names = sorted(topic.publishers.order_by().values_list("name", flat=True))
    until = until or timezone.now()
    since = until - timedelta(minutes=minutes)
    reports = publisher_times(
        topic.system, names, since, most_named=most_named, most_moments=most_moments
    )
    messages = np.zeros(len(names), dtype=np.int64)
    np.add.at(messages, reports.publishers, reports.messages)
    timed = np.isfinite(reports.at_s)
    publishers, at_s = reports.publishers[timed], reports.at_s[timed]
    order = np.lexsort((at_s, publishers))
    moments = np.bincount(publishers, minlength=len(names))
    wrong = np.unique(reports.publishers[reports.wrong_clock])
    known = np.flatnonzero(moments)
    return Measured(
        publishers=len(names),
        messages=int(messages.sum()),
        heard=len(np.unique(reports.publishers)),
        wrong_clock=int((moments[wrong] == 0).sum()),
        unreported=publishers_unreported(topic.system, since),
        shortened=reports.shortened,
        until=until,
        names=tuple(names[place] for place in known),
        sent=messages[known],
        starts=np.concatenate([[0], np.cumsum(moments[known])]).astype(np.int64),
        at_s=at_s[order],
    )


def measured_at_a_glance(topic: Topic) -> Measured:
    """Return the same of the latest reports, in less than a second."""
    return measured_of(topic, most_named=MOST_NAMED_AT_A_GLANCE)
