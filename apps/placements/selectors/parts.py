"""Read the parts of a topic's bucket that are in force, and what agents measure of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from apps.executions.selectors import in_force
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from weir.actions import SettingKey, target_of
from weir.actions.set_bucket import COUNT
from weir.actions.set_bucket import KIND as BUCKET
from weir.model.plan import Value
from weir.placement.handover import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPart:
    """Hold one broker's part in force with what its agent measured last; None: nothing yet."""

    broker: str
    rate_per_s: float
    size: float
    mode: str
    passed_per_s: float | None
    waiting: int | None
    """Messages that wait at the broker's gate."""
    messages: int | None
    """Messages counted since the part is only counted; None where it is enforced."""
    held: int | None
    p99_s: float | None
    longest_s: float | None


def parts_in_force(flow: str, settings: Mapping[SettingKey, Value]) -> dict[str, Part]:
    """Return each broker's part of the flow's bucket."""
    return {
        broker: Part(
            rate_per_s=value["rate_per_s"],
            size=value["size"],
            count_only=value["mode"] == COUNT,
        )
        for broker, value in _values(flow, settings).items()
    }


def measured_parts(system: System, flow: str) -> list[MeasuredPart]:
    """Return the parts of the flow's bucket that are in force, by broker."""
    values = _values(flow, in_force(system).settings)
    if not values:
        return []
    samples = {
        row.broker.name: row.payload["flows"].get(flow, {}) for row in latest_samples(system)
    }
    rows = []
    for broker, value in sorted(values.items()):
        sample = samples.get(broker, {})
        # An agent that counts another part says so until it has heard of this one.
        counted = sample if value["mode"] == COUNT else {}
        rows.append(
            MeasuredPart(
                broker=broker,
                rate_per_s=value["rate_per_s"],
                size=value["size"],
                mode=value["mode"],
                passed_per_s=sample.get("passed_per_s"),
                waiting=sample.get("backlog"),
                messages=counted.get("bucket_messages"),
                held=counted.get("bucket_held"),
                p99_s=counted.get("bucket_p99_s"),
                longest_s=counted.get("bucket_longest_s"),
            )
        )
    return rows


def _values(flow: str, settings: Mapping[SettingKey, Value]) -> dict[str, Value]:
    targets = {key: target_of(key) for key in settings if key[0] == BUCKET}
    return {
        target["broker"]: settings[key] for key, target in targets.items() if target["flow"] == flow
    }
