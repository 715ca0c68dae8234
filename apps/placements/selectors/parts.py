"""Read the parts of a topic's bucket that are in force, and what agents measure of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.catalog.models import Publisher, Topic
from apps.executions.selectors import in_force
from apps.placements.selectors.lists import lists_in_force
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
    wait_messages: int | None
    """Messages that left through the gate in the last minute; None where the part is only counted,
    or none left."""
    wait_p99_s: float | None
    publishers: int | None
    """How many publishers the broker lets in; None where it has no list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWhole:
    """Hold what the waits at single brokers say of all messages of the flow together."""

    wait_messages: int
    largest_wait_p99_s: float | None
    """No more than 1 % of all messages waited longer: at no broker did more. None: nothing is
    measured."""


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


def parts_of(shares: Iterable[Mapping[str, Any]], *, count_only: bool = False) -> dict[str, Part]:
    """Return each broker's part of the bucket by the shares of a placement's outcome."""
    return {
        share["broker"]: Part(
            rate_per_s=share["token_rate_per_s"], size=share["bucket"], count_only=count_only
        )
        for share in shares
        if share["publishers"]
    }


def measured_parts(system: System, flow: str) -> list[MeasuredPart]:
    """Return the parts of the flow's bucket that are in force, by broker."""
    settings = in_force(system).settings
    values = _values(flow, settings)
    if not values:
        return []
    lists = lists_in_force(flow, settings)
    samples = {
        row.broker.name: row.payload["flows"].get(flow, {}) for row in latest_samples(system)
    }
    rows = []
    for broker, value in sorted(values.items()):
        sample = samples.get(broker, {})
        # An agent that counts another part says so until it has heard of this one.
        is_counted = value["mode"] == COUNT
        counted, enforced = (sample, {}) if is_counted else ({}, sample)
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
                wait_messages=enforced.get("wait_messages"),
                wait_p99_s=enforced.get("wait_p99_s"),
                publishers=len(lists[broker]) if broker in lists else None,
            )
        )
    return rows


def publishers_unlisted(topic: Topic) -> list[str] | None:
    """Return the topic's publishers of the catalogue that no list in force names, so that they are
    let in nowhere; None where the topic has no lists."""
    lists = lists_in_force(topic.name, in_force(topic.system).settings)
    if not lists:
        return None
    listed = frozenset[str]().union(*lists.values())
    names = Publisher.objects.filter(topic=topic).order_by("name").values_list("name", flat=True)
    return [name for name in names if name not in listed]


def measured_whole(parts: Iterable[MeasuredPart]) -> MeasuredWhole:
    """Return what can be said of the flow as a whole.

    Percentiles do not add, and the waits behind them stay with the agents; but the percentile of
    all messages is never above the largest of those of the brokers.
    """
    measured = [(part.wait_messages or 0, part.wait_p99_s) for part in parts]
    return MeasuredWhole(
        wait_messages=sum(messages for messages, _ in measured),
        largest_wait_p99_s=max((p99_s for _, p99_s in measured if p99_s is not None), default=None),
    )


def _values(flow: str, settings: Mapping[SettingKey, Value]) -> dict[str, Value]:
    targets = {key: target_of(key) for key in settings if key[0] == BUCKET}
    return {
        target["broker"]: settings[key] for key, target in targets.items() if target["flow"] == flow
    }
