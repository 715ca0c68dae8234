"""Read when publishers sent, as their brokers' agents reported it."""

from collections.abc import Collection, Iterator
from datetime import datetime

from apps.systems.models import System
from apps.telemetry.domain.publisher_times import unpack
from apps.telemetry.models import PublisherTimes

BATCH = 200


def publisher_times(
    system: System, names: Collection[str], since: datetime
) -> Iterator[tuple[str, float | None, int]]:
    """Return (publisher, Unix time in seconds, messages) of these publishers, one for each message
    of an agent that was received since then and names it, in order of reception.

    The time is None where the publisher sent too often for its moments to be told apart, or where
    the broker's clock is wrong. Times are by the clocks of brokers.
    """
    wanted = frozenset(names)
    rows = PublisherTimes.objects.filter(broker__system=system, at__gte=since)
    payloads = rows.order_by("at", "id").values_list("payload", flat=True)
    for payload in payloads.iterator(chunk_size=BATCH):
        for row in unpack(payload):
            if row[0] in wanted:
                yield row
