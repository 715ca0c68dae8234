"""A day of sensors: each has a period of its own, some are silent for a while, groups burst.

A topic is a kind of reading in a region. Groups of devices of one topic send at once when something
happens there. Archives receive all topics, dashboards some of their region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weir.records._brokers import (
    METRICS,
    BrokerShape,
    Measured,
    base_delays_s,
    measured,
    sample_interval_s,
)
from weir.records._delivery import Network, Published, Tail, log_of
from weir.records.slices import SLICE_RECORDS, Slice

NAME = "iot"
TITLE = "A day of sensors"
TABLES = ("messages", "deliveries", "samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The figures of a day of sensors; all are ours."""

    began_s: float = 1_704_153_600.0
    """When the day begins: 2024-01-02, 0:00 UTC."""
    day_s: float = 86_400.0
    """Seconds of the day."""
    kinds: tuple[str, ...] = ("power", "pressure", "temperature", "vibration")
    """Kinds of readings; devices are of each in turn."""
    periods_s: tuple[float, ...] = (60.0, 120.0, 300.0, 15.0)
    """Seconds between two readings, by kind; all are multiplied so that the records fit the day."""
    own_period: float = 0.2
    """How far a device's period is from that of its kind, relatively, at most; uniform."""
    jitter_s: float = 0.05
    """Mean seconds, exponential, by which a reading is late."""
    bytes_of: tuple[int, ...] = (120, 96, 80, 900)
    """Bytes of a message, by kind."""
    regions: int = 8
    """Regions, each with a broker of its own; one more broker is the centre."""
    records_per_device: float = 2_000.0
    """Records for which there is a device, between the fewest and the most devices."""
    devices_low: int = 48
    """Fewest devices; fewer than so many to a region leave fewer regions."""
    devices_high: int = 20_000
    """Most devices: of more records each device makes more."""
    silent: float = 0.2
    """Part of the devices that are silent once in the day."""
    silent_low_s: float = 1_800.0
    """Shortest silence, in seconds; uniform up to `silent_high_s`, within the day."""
    silent_high_s: float = 7_200.0
    """Longest silence, in seconds."""
    grouped: float = 0.5
    """Part of the devices of a topic that belong to groups, as far as groups are full."""
    group: int = 6
    """Devices of a group."""
    event_messages: float = 0.1
    """Part of the rows of messages that are sent because something happened."""
    takes_part: float = 0.9
    """Chance with which a device of a group sends when something happens, unless it is silent."""
    event_spread_s: float = 0.02
    """Mean seconds, exponential, from what happens until a device sends."""
    archives: int = 2
    """Subscribers of all topics, at the centre, of the class bulk."""
    dashboards: int = 3
    """Subscribers in each region, of the class live, half of them at the centre."""
    interest: float = 0.6
    """Chance with which a dashboard wants a topic of its region."""
    bulk_tail: float = 4.0
    """Factor on the tail of delays of archives."""
    tail: Tail = field(default_factory=Tail)
    """The same at every moment."""
    broker: BrokerShape = field(default_factory=lambda: BrokerShape(across_s=0.03))
    """What is measured of brokers, which lie farther apart than those of a market."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The truth behind the log of a day of sensors; devices are in the order of publishers."""

    shape: Shape
    network: Network
    measured: Measured
    topic_of: NDArray[np.int32]
    period_s: NDArray[np.float64]
    phase_s: NDArray[np.float64]
    """When a device sends first, in seconds since the day began."""
    silent_from_s: NDArray[np.float64]
    """Infinite for a device that is never silent."""
    silent_until_s: NDArray[np.float64]
    groups: NDArray[np.int64]
    """Devices by group and place in it."""
    events_per_s: float
    """How often something happens to a group."""

    def silent(self, device: NDArray[np.int64], at_s: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether these devices are silent at these times since the day began."""
        late = at_s >= self.silent_from_s[device]
        return late & (at_s < self.silent_until_s[device])


def fleet_of(shape: Shape, *, records: int, seed: int) -> Fleet:
    """Return the devices whose day has about so many records."""
    rng = np.random.default_rng([seed, 31])
    wished = round(records / shape.records_per_device)
    count = int(np.clip(wished, shape.devices_low, shape.devices_high))
    regions = int(np.clip(count // shape.devices_low, 1, shape.regions))
    kinds = len(shape.kinds)
    # Which devices belong together cannot be read from their names.
    topic_of = rng.permutation(np.arange(count) % (regions * kinds)).astype(np.int32)
    network = _network(shape, topic_of, regions, rng)
    members = [np.flatnonzero(topic_of == topic) for topic in range(regions * kinds)]
    kept = [each[: int(len(each) * shape.grouped) // shape.group * shape.group] for each in members]
    groups = np.concatenate(kept).reshape(-1, shape.group)
    since_s = np.full(count, np.inf)
    lasting_s = np.zeros(count)
    some = np.flatnonzero(rng.random(count) < shape.silent)
    lasting_s[some] = rng.uniform(shape.silent_low_s, shape.silent_high_s, len(some))
    since_s[some] = rng.uniform(0.0, shape.day_s - lasting_s[some])
    brokers = regions + 1
    interval_s = sample_interval_s(
        shape.broker, brokers=brokers, duration_s=shape.day_s, records=records
    )
    # All that a device sends goes to as many as want its topic, less while it is silent.
    weight = (1.0 + np.diff(network.starts)[topic_of]) * (1.0 - lasting_s / shape.day_s)
    natural_s = np.array(shape.periods_s)[topic_of % kinds]
    natural_s *= rng.uniform(1.0 - shape.own_period, 1.0 + shape.own_period, count)
    samples = brokers * len(METRICS) * shape.day_s / interval_s
    per_s = (records - samples) / shape.day_s
    # Rows of events are this part of those sent by period, and of the same sum as wished.
    ratio = shape.event_messages / (1.0 - shape.event_messages) if len(groups) else 0.0
    awake = 1.0 - lasting_s / shape.day_s
    each = shape.takes_part * awake[groups].sum() if len(groups) else 1.0
    events = ratio * float((awake / natural_s).sum()) / each
    in_events = events * shape.takes_part * np.bincount(groups.ravel(), minlength=count)
    factor = float(weight @ (1.0 / natural_s + in_events)) / per_s
    period_s = natural_s * factor
    in_per_s = float(awake @ (1.0 / natural_s + in_events)) / factor
    return Fleet(
        shape=shape,
        network=network,
        measured=measured(
            shape.broker,
            (*(f"edge-{at + 1}" for at in range(regions)), "centre"),
            network.connections(),
            interval_s=interval_s,
            began_s=shape.began_s,
            in_per_s=in_per_s,
            out_per_s=per_s - in_per_s,
        ),
        topic_of=topic_of,
        period_s=period_s,
        phase_s=rng.random(count) * period_s,
        silent_from_s=since_s,
        silent_until_s=since_s + lasting_s,
        groups=groups,
        events_per_s=events / factor,
    )


def _network(
    shape: Shape, topic_of: NDArray[np.int32], regions: int, rng: np.random.Generator
) -> Network:
    """Return who receives which topic: archives all, dashboards some of their region."""
    kinds, centre = len(shape.kinds), regions
    subscribers = [f"archive-{at + 1}" for at in range(shape.archives)]
    where = [centre] * shape.archives
    wanted = [np.ones((shape.archives, regions * kinds), dtype=np.bool_)]
    for region in range(regions):
        subscribers += [f"dashboard-{region + 1}-{at + 1}" for at in range(shape.dashboards)]
        where += [centre if rng.random() < 0.5 else region for _ in range(shape.dashboards)]
        here = np.arange(regions * kinds) // kinds == region
        drawn = rng.random((shape.dashboards, regions * kinds)) < shape.interest
        wanted.append(here & drawn)
    topic, subscriber = np.nonzero(np.concatenate(wanted).T)
    starts = np.zeros(regions * kinds + 1, dtype=np.int64)
    np.cumsum(np.bincount(topic, minlength=regions * kinds), out=starts[1:])
    return Network(
        topics=tuple(f"r{region + 1}/{kind}" for region in range(regions) for kind in shape.kinds),
        bytes_of=np.tile(np.array(shape.bytes_of, dtype=np.int64), regions),
        publishers=tuple(f"device-{at:06}" for at in range(len(topic_of))),
        broker_of_publisher=(topic_of // kinds).astype(np.int32),
        subscribers=tuple(subscribers),
        broker_of_subscriber=np.array(where, dtype=np.int32),
        class_of=(np.arange(len(subscribers)) >= shape.archives).astype(np.int32),
        classes=("bulk", "live"),
        tail_of=np.array([shape.bulk_tail, 1.0]),
        starts=starts,
        audiences=subscriber.astype(np.int32),
        base_s=base_delays_s(regions + 1, shape.broker, rng),
        tail=shape.tail,
    )


def slices(shape: Shape, *, records: int, seed: int) -> Iterator[Slice]:
    """Yield the log of a day of sensors; they go on until somebody stops."""
    fleet = fleet_of(shape, records=records, seed=seed)
    step_s = shape.day_s / max(np.ceil(records / SLICE_RECORDS), 1.0)
    return log_of(_published(fleet, float(step_s), seed), fleet.network, fleet.measured, seed)


def _published(fleet: Fleet, step_s: float, seed: int) -> Iterator[Published]:
    """Yield what devices send, in spans of `step_s`: by their periods and when things happen."""
    rng = np.random.default_rng([seed, 32])
    shape = fleet.shape
    next_tick = np.zeros(len(fleet.period_s), dtype=np.int64)
    until_s = 0.0
    while True:
        since_s, until_s = until_s, until_s + step_s
        ticks = np.ceil((until_s - fleet.phase_s) / fleet.period_s).astype(np.int64)
        due = np.maximum(ticks - next_tick, 0)
        device = np.repeat(np.arange(len(due)), due)
        ends = np.cumsum(due)
        tick = np.arange(len(device)) + np.repeat(next_tick - ends + due, due)
        next_tick += due
        at_s = fleet.phase_s[device] + tick * fleet.period_s[device]
        at_s += rng.exponential(shape.jitter_s, len(at_s))
        happened = rng.poisson(fleet.events_per_s * len(fleet.groups) * step_s)
        if happened:
            members = fleet.groups[rng.integers(len(fleet.groups), size=happened)]
            event_s = rng.uniform(since_s, until_s, (happened, 1))
            sent_s = event_s + rng.exponential(shape.event_spread_s, members.shape)
            part = rng.random(members.shape) < shape.takes_part
            device = np.concatenate([device, members[part]])
            at_s = np.concatenate([at_s, sent_s[part]])
        heard = ~fleet.silent(device, at_s)
        device, at_s = device[heard], at_s[heard]
        yield Published(
            until_s=until_s,
            at_s=at_s,
            topic=fleet.topic_of[device],
            publisher=device.astype(np.int32),
            messages=np.ones(len(device), dtype=np.int64),
            log_busy=np.zeros(len(device), dtype=np.float32),
        )
