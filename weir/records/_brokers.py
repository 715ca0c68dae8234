"""Brokers of a generated log: where they are, and what is measured of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.records.slices import Columns, Text

METRICS = ("cpu_ratio", "memory_bytes", "connections", "network_bytes_per_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerShape:
    """The figures of brokers and of what is measured of them; all are ours."""

    sample_s: float = 10.0
    """Seconds between two samples of a metric where the records leave room for it."""
    samples_share: float = 0.1
    """Largest part of the records that are samples; `sample_s` is multiplied to keep it."""
    cpu_fixed: float = 0.03
    """CPU (1 is all of it) of a broker that does nothing."""
    cpu_in: float = 0.05
    """CPU that the messages take which come in at an average broker, on average over the log."""
    cpu_out: float = 0.12
    """CPU that the deliveries take which go out of an average broker, on average over the log."""
    cpu_noise: float = 0.004
    """Standard deviation of what else the CPU does, in its unit."""
    memory_fixed_bytes: float = 512e6
    """Memory of a broker without connections, in bytes."""
    memory_per_connection_bytes: float = 256e3
    """Memory that a connection takes, in bytes."""
    memory_noise_bytes: float = 8e6
    """Standard deviation of the memory in use, in bytes."""
    local_s: float = 0.0002
    """Seconds that a delivery takes at least within one broker."""
    across_s: float = 0.004
    """Seconds that it takes more between corners of the square in which brokers lie."""


def base_delays_s(count: int, shape: BrokerShape, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the smallest delay from each broker to each, in seconds: they lie in a square."""
    at = rng.random((count, 2))
    apart = np.sqrt(((at[:, None] - at[None]) ** 2).sum(axis=2) / 2.0)
    delays: NDArray[np.float64] = shape.local_s + shape.across_s * apart
    return delays


def sample_interval_s(
    shape: BrokerShape, *, brokers: int, duration_s: float, records: int
) -> float:
    """Return the seconds between two samples: `sample_s`, or the multiple that leaves room."""
    rows = brokers * len(METRICS) * duration_s / shape.sample_s
    return float(shape.sample_s * max(np.ceil(rows / (shape.samples_share * records)), 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The truth behind the samples of a log."""

    shape: BrokerShape
    brokers: tuple[str, ...]
    connections: NDArray[np.int64]
    """Publishers, requesters and subscribers, by broker."""
    interval_s: float
    began_s: float
    """When the log begins, in Unix seconds."""
    cpu_s_per_in: float
    """CPU seconds of a message that comes in."""
    cpu_s_per_out: float
    """CPU seconds of a delivery that goes out."""

    def per_s(self) -> float:
        """Return the samples of all brokers in a second, on average."""
        return len(self.brokers) * len(METRICS) / self.interval_s


def measured(
    shape: BrokerShape,
    brokers: tuple[str, ...],
    connections: NDArray[np.int64],
    *,
    interval_s: float,
    began_s: float,
    in_per_s: float,
    out_per_s: float,
) -> Measured:
    """Return brokers that are as large as these rates of all of them together need."""
    return Measured(
        shape=shape,
        brokers=brokers,
        connections=connections,
        interval_s=interval_s,
        began_s=began_s,
        cpu_s_per_in=shape.cpu_in * len(brokers) / in_per_s,
        cpu_s_per_out=shape.cpu_out * len(brokers) / out_per_s,
    )


class Sampler:
    """What went through the brokers since they were sampled last."""

    def __init__(self, truth: Measured, rng: np.random.Generator) -> None:
        self._truth, self._rng = truth, rng
        self._first = 0
        # Messages in, messages out and bytes of both, by interval from the first open one.
        self._sums = np.zeros((3, 1, len(truth.brokers)))

    def add(
        self,
        way: int,
        at_s: NDArray[np.float64],
        broker: NDArray[np.int32],
        messages: NDArray[np.int64],
        size: NDArray[np.int64],
    ) -> None:
        """Count rows that came in (way 0) or went out (1); times are since the log began."""
        count = self._sums.shape[2]
        interval = (at_s / self._truth.interval_s).astype(np.int64) - self._first
        more = int(interval.max(initial=0)) + 1 - self._sums.shape[1]
        if more > 0:
            self._sums = np.pad(self._sums, ((0, 0), (0, more), (0, 0)))
        place, room = interval * count + broker, self._sums[0].size
        shape = self._sums.shape[1:]
        self._sums[way] += np.bincount(place, messages, minlength=room).reshape(shape)
        self._sums[2] += np.bincount(place, size, minlength=room).reshape(shape)

    def samples(self, until_s: float) -> Columns:
        """Return the samples of every interval that is over at this time since the log began."""
        truth, shape, rng = self._truth, self._truth.shape, self._rng
        ended = int(until_s // truth.interval_s) - self._first
        if ended > self._sums.shape[1]:
            self._sums = np.pad(self._sums, ((0, 0), (0, ended - self._sums.shape[1]), (0, 0)))
        rates = self._sums[:, :ended] / truth.interval_s
        self._sums = self._sums[:, ended:]
        if not self._sums.shape[1]:
            self._sums = np.zeros((3, 1, len(truth.brokers)))
        ends_s = (self._first + 1 + np.arange(ended)) * truth.interval_s
        self._first += ended
        values = np.empty((ended, len(truth.brokers), len(METRICS)))
        noise = rng.normal(size=(2, ended, len(truth.brokers)))
        cpu = shape.cpu_fixed + rates[0] * truth.cpu_s_per_in + rates[1] * truth.cpu_s_per_out
        values[:, :, 0] = np.clip(cpu + shape.cpu_noise * noise[0], 0.0, 1.0)
        memory = shape.memory_fixed_bytes + truth.connections * shape.memory_per_connection_bytes
        values[:, :, 1] = np.maximum(np.round(memory + shape.memory_noise_bytes * noise[1]), 0.0)
        values[:, :, 2] = truth.connections
        values[:, :, 3] = rates[2]
        broker, metric = (np.ravel(each) for each in np.indices(values.shape, np.int32)[1:])
        return {
            "at_s": truth.began_s + np.repeat(ends_s, len(truth.brokers) * len(METRICS)),
            "broker": Text(names=truth.brokers, codes=broker),
            "metric": Text(names=METRICS, codes=metric),
            "value": values.ravel(),
        }
