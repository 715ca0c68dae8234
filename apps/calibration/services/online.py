"""Correct errors and bound latencies from telemetry between two fits, every few seconds.

Corrections and bounds are computed for every system whose agents report, so that people see them
before they switch them on; a change of a factor that snapshots use is an entry in the audit.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Count
from django.utils import timezone

from apps.audit.services import record
from apps.calibration.models import CalibrationSettings, Correction, LatencyBound
from apps.calibration.selectors import (
    Cost,
    corrections_of,
    costs_at,
    measure_of,
    predicted_loads,
    settings_of,
)
from apps.catalog.models import Delivery, Topic
from apps.common.events import publish_seldom
from apps.common.locks import lock_try
from apps.systems.models import Edition, System
from apps.telemetry.models import Sample
from apps.telemetry.selectors.measured import measured
from apps.topology.models import Broker, BrokerCapacity
from weir.fitting import Correction as Step
from weir.fitting import CorrectionParams, correct, rate_bound
from weir.fitting.correction import Clamped

logger = logging.getLogger(__name__)

WINDOW_S = 10.0
"""Means over this time, and every measurement counts in about two steps."""

LOCK = "weircalb"
"""One coordinator of many takes the steps; two would smooth twice as fast."""

ACK_SMOOTHING = 0.3
NEWS_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Hold what brokers and acknowledgements showed over the window."""

    cpu: dict[str, tuple[float, float | None]]
    """Broker -> (cores in use, cores it may use)."""
    ack_s: dict[str, float]
    """Reliable flow -> mean acknowledgement latency at its ingress."""


def calibration_tick() -> int:
    """Take one step in every system that is measured. Returns how many took one."""
    if not lock_try(LOCK):
        return 0
    since = timezone.now() - timedelta(seconds=WINDOW_S)
    measuring = Sample.objects.filter(at__gte=since).values("broker__system").distinct()
    count = 0
    for system in System.objects.filter(pk__in=measuring):
        try:
            with transaction.atomic():
                count += system_step(system)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            # One system that cannot be corrected must not keep the others from it.
            logger.exception("the model of %s cannot be corrected", system)
    return count


def system_step(system: System) -> bool:
    """Compute corrections and bounds of one system; return False where nothing was measured."""
    seen = measured(system, window_s=WINDOW_S)
    busy = _busy(system)
    if not seen.brokers:
        return False
    # In the order in which applying a fit takes them: the two cannot wait for each other.
    list(corrections_of(system).select_for_update(of=("self",)).order_by("pk"))
    now = settings_of(system)
    resources = [name for name in system.resources if measure_of(name) == "cpu"]
    predicted = predicted_loads(
        _costs(system.edition, tuple(resources)),
        rates=seen.passed,
        admitted=seen.admitted,
    )
    for resource in resources:
        _correct(system, now, resource, busy, predicted)
    _bound(system, now, busy)
    publish_seldom(
        "calibration",
        key=str(system.public_id),
        every_s=NEWS_EVERY_S,
        system=system.public_id,
    )
    return True


@lru_cache(maxsize=4)
def _costs(edition: Edition, resources: tuple[str, ...]) -> dict[tuple[str, str], list[Cost]]:
    """Return the model's coefficients, read once per edition and process."""
    return costs_at(System.objects.get(public_id=edition[0]), list(resources))


def _busy(system: System) -> Busy:
    since = timezone.now() - timedelta(seconds=WINDOW_S)
    cpu: dict[str, list[tuple[float, float]]] = defaultdict(list)
    cores: dict[str, float] = {}
    acks: dict[str, list[float]] = defaultdict(list)
    rows = Sample.objects.filter(broker__system=system, at__gte=since).order_by("at", "id")
    for broker, payload in rows.values_list("broker__name", "payload"):
        load = payload.get("broker", {})
        if "cpu_ratio" in load:
            seconds = float(payload.get("interval_s") or 1.0)
            cpu[broker].append((float(load["cpu_ratio"]), seconds))
        if load.get("cores"):
            cores[broker] = float(load["cores"])
        for flow, row in payload.get("flows", {}).items():
            if row.get("ack_s"):
                acks[flow].append(float(row["ack_s"]))
    return Busy(
        cpu={broker: (_mean(pairs), cores.get(broker)) for broker, pairs in cpu.items()},
        ack_s={flow: sum(values) / len(values) for flow, values in acks.items()},
    )


def _mean(pairs: Iterable[tuple[float, float]]) -> float:
    rows = list(pairs)
    weight = sum(seconds for _, seconds in rows)
    return sum(value * seconds for value, seconds in rows) / weight if weight > 0 else 0.0


def _correct(
    system: System,
    now: CalibrationSettings,
    resource: str,
    busy: Busy,
    predicted: dict[tuple[str, str], float],
) -> None:
    params = CorrectionParams(low=now.factor_min, high=now.factor_max, smoothing=now.smoothing)
    capacities = dict(
        BrokerCapacity.objects.filter(broker__system=system, resource=resource).values_list(
            "broker__name", "capacity"
        )
    )
    brokers = {broker.name: broker for broker in Broker.objects.filter(system=system)}
    for name, (used, reported) in busy.cpu.items():
        cores = now.cores or reported
        capacity = capacities.get(name)
        if not cores or not capacity or name not in brokers:
            continue
        row, _ = Correction.objects.select_for_update(of=("self",)).get_or_create(
            broker=brokers[name], resource=resource, defaults={"at": timezone.now()}
        )
        row.measured = used / cores * capacity
        row.predicted = predicted.get((name, resource), 0.0)
        before = Step(ratio=row.ratio, factor=row.factor, clamped=Clamped(row.clamped))
        after = correct(
            before,
            measured=row.measured,
            predicted=row.predicted,
            capacity=capacity,
            params=params,
        )
        row.ratio, row.factor, row.clamped = after.ratio, after.factor, after.clamped.value
        row.at = timezone.now()
        row.save()
        if now.correct_errors and after.factor != before.factor:
            _tell(system, brokers[name], row, before.factor)


def _tell(system: System, broker: Broker, row: Correction, before: float) -> None:
    where = f" (clamped {row.clamped})" if row.clamped else ""
    record(
        actor=None,
        action="correct",
        object_kind="broker",
        object_id=broker.public_id,
        object_name=broker.name,
        system_id=system.public_id,
        model_version=system.model_version,
        before={"resource": row.resource, "factor": round(before, 4)},
        after={"resource": row.resource, "factor": round(row.factor, 4)},
        reason=f"measured {row.measured:.4g}, predicted {row.predicted:.4g}{where}",
    )


def _bound(system: System, now: CalibrationSettings, busy: Busy) -> None:
    topics = Topic.objects.filter(
        system=system, delivery=Delivery.RELIABLE, name__in=busy.ack_s
    ).annotate(producer_count=Count("publishers"))
    for topic in topics:
        row = LatencyBound.objects.filter(topic=topic).first()
        newest = busy.ack_s[topic.name]
        ack_s = newest if row is None else row.ack_s + ACK_SMOOTHING * (newest - row.ack_s)
        bound = rate_bound(
            producers=topic.producer_count,
            messages_per_transaction=now.messages_per_transaction,
            ack_s=ack_s,
        )
        LatencyBound.objects.update_or_create(
            topic=topic,
            defaults={
                "ack_s": ack_s,
                "producers": topic.producer_count,
                "bound_per_s": bound,
                "at": timezone.now(),
            },
        )
