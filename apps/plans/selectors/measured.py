"""What agents measured over the last seconds, summed over a system's brokers."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from apps.systems.models import System
from apps.telemetry.models import Sample

# One second of a slow flow says little about its rate.
WINDOW_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Means over the window, msg/s, and the latest admissions; empty where nobody reported."""

    offered: dict[str, float]
    passed: dict[str, float]
    admitted: dict[str, int]


def measured_flows(system: System) -> Flows:
    """One query; each broker's samples are weighted by how long they measured."""
    since = timezone.now() - timedelta(seconds=WINDOW_S)
    by_broker: dict[int, list[Sample]] = defaultdict(list)
    for sample in Sample.objects.filter(broker__system=system, at__gte=since).order_by("at", "id"):
        by_broker[sample.broker_id].append(sample)
    offered: dict[str, float] = defaultdict(float)
    passed: dict[str, float] = defaultdict(float)
    admitted: dict[str, int] = defaultdict(int)
    for samples in by_broker.values():
        seconds = sum(_interval_s(sample) for sample in samples)
        for sample in samples:
            share = _interval_s(sample) / seconds
            for flow, row in sample.payload.get("flows", {}).items():
                offered[flow] += share * float(row.get("offered_per_s") or 0.0)
                passed[flow] += share * float(row.get("passed_per_s") or 0.0)
        for name, row in samples[-1].payload.get("classes", {}).items():
            admitted[name] += int(row.get("admitted") or 0)
    return Flows(offered=dict(offered), passed=dict(passed), admitted=dict(admitted))


def _interval_s(sample: Sample) -> float:
    return float(sample.payload.get("interval_s") or 1.0)
