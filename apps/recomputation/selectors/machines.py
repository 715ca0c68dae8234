"""Read how full the machines of brokers are, as their agents measure it."""

from collections import defaultdict
from datetime import timedelta
from statistics import fmean
from typing import Any

from django.utils import timezone

from apps.common.formatting import percent
from apps.runs.selectors import Reading
from apps.systems.models import System
from apps.telemetry.models import Sample

WINDOW_S = 15.0
"""The time over which figures are averaged."""


def machine_load(system: System) -> Reading:
    """Return the CPU or storage in use of the fullest broker, as a share of what it may use.

    Whoever measures neither, as a broker without agent does, is left out.
    """
    since = timezone.now() - timedelta(seconds=WINDOW_S)
    rows = Sample.objects.filter(broker__system=system, at__gte=since)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for broker, payload in rows.values_list("broker__name", "payload"):
        load = payload.get("broker", {})
        for what, share in (
            ("CPU", _share(load, "cpu_ratio", "cores")),
            ("Storage", _share(load, "stored_bytes", "most_stored_bytes")),
        ):
            if share is not None:
                shares[broker, what].append(share)
    if not shares:
        return Reading(value=None, detail="No agent measures CPU or storage of its broker now.")
    means = {key: fmean(values) for key, values in sorted(shares.items())}
    broker, what = max(means, key=lambda key: means[key])
    return Reading(
        value=means[broker, what],
        detail=f"{what} of {broker} is {percent(means[broker, what], 1)} in use, as measured over "
        f"{WINDOW_S:.0f} s.",
    )


def _share(load: dict[str, Any], used: str, most: str) -> float | None:
    """Return a part of a whole; None where either is not measured."""
    if load.get(used) is None or not load.get(most):
        return None
    return float(load[used]) / float(load[most])
