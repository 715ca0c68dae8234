"""What agents reported of waiting messages over the last minutes."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.telemetry.domain.backlog import CELL_S
from apps.telemetry.models import Sample
from apps.topology.models import Broker

RISE = tuple(287 + 1_000 * i for i in range(12))
"""A backlog that grows by 100 msg/s for the whole window."""


def waits(
    broker: Broker,
    counts: Sequence[int] = RISE,
    *,
    flow: str = "tides",
    began_at: Sequence[float] | None = None,
    load: Mapping[str, Any] | None = None,
    ago_s: float = 0.0,
    **members: Any,
) -> None:
    """Samples of a flow at one broker, the last of them now; 60 msg/s come and 40 leave."""
    last = timezone.now() - timedelta(seconds=ago_s)
    for i, count in enumerate(counts):
        row = {"offered_per_s": 60.0, "passed_per_s": 40.0, "backlog": count, **members}
        Sample.objects.create(
            broker=broker,
            at=last - timedelta(seconds=(len(counts) - 1 - i) * CELL_S),
            payload={
                "interval_s": 1.0,
                "flows": {flow: row},
                "broker": load or {},
                "agent": {"began_at": 1.0 if began_at is None else began_at[i]},
            },
        )
