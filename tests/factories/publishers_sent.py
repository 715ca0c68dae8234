"""What agents reported of the times at which publishers sent."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from apps.telemetry.domain.publisher_times import pack
from apps.telemetry.models import PublisherTimes
from apps.topology.models import Broker


def publishers_sent(
    broker: Broker,
    moments: Mapping[str, Iterable[float]],
    *,
    untimed: Mapping[str, int] | None = None,
    every_s: float = 1.0,
    burst: int = 1,
    unreported: int = 0,
) -> None:
    """Rows as an agent's messages leave them: `moments` are Unix times in seconds by publisher,
    `burst` messages each; `untimed` publishers send so many messages in every interval, without
    times."""
    intervals: dict[int, dict[str, list[float]]] = {}
    for name, times in moments.items():
        for at_s in times:
            intervals.setdefault(int(at_s // every_s), {}).setdefault(name, []).append(at_s)
    for interval, sent in sorted(intervals.items()):
        received_s = (interval + 1) * every_s
        reported: dict[str, tuple[int, float | None]] = {
            name: (count, None) for name, count in (untimed or {}).items()
        }
        # An agent tells one moment an interval; of more it would tell none.
        reported |= {
            name: (len(t) * burst, t[0] if len(t) == 1 else None) for name, t in sent.items()
        }
        PublisherTimes.objects.create(
            broker=broker,
            at=datetime.fromtimestamp(received_s, tz=UTC),
            payload=pack(reported, received_s=received_s),
            unreported=unreported,
        )
