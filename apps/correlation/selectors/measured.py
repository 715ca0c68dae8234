"""Read what agents reported of the moments at which a topic's publishers sent."""

from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from apps.catalog.models import Topic
from apps.telemetry.selectors.publisher_times import publisher_times

MOST_MINUTES = 30
"""Agents' reports are kept so long."""


@dataclass(slots=True, kw_only=True)
class Measured:
    """Hold what is known of the publishers that the catalogue has of a topic."""

    publishers: int
    messages: int = 0
    heard: set[str] = field(default_factory=set)
    times: "dict[str, array[float]]" = field(default_factory=dict)
    """Unix seconds by publisher, ascending; those without a moment are left out."""

    @property
    def since_s(self) -> float | None:
        """Return the first of all moments; None where there is none."""
        return min((times[0] for times in self.times.values()), default=None)

    @property
    def until_s(self) -> float | None:
        """Return the last of all moments; None where there is none."""
        return max((times[-1] for times in self.times.values()), default=None)

    @property
    def untimed(self) -> int:
        """Return how many sent so often that no moment of theirs is known."""
        return len(self.heard) - len(self.times)


def measured_of(
    topic: Topic, *, minutes: float = MOST_MINUTES, until: datetime | None = None
) -> Measured:
    """Return what agents reported of the topic's publishers in the last minutes."""
    names = list(topic.publishers.order_by().values_list("name", flat=True))
    measured = Measured(publishers=len(names))
    if not names:
        return measured
    until = until or timezone.now()
    times: dict[str, array[float]] = defaultdict(lambda: array("d"))
    for name, at_s, messages in publisher_times(
        topic.system, names, until - timedelta(minutes=minutes)
    ):
        measured.messages += messages
        measured.heard.add(name)
        if at_s is not None:
            times[name].append(at_s)
    measured.times = {name: array("d", sorted(known)) for name, known in times.items()}
    return measured
