"""An hour of requests: clients that think, ask one service and wait for its answer.

Every service is a station with a queue, first come first served, and clients of its own; thinking
and execution are exponential. So each is a closed system M/M/m//N, and mean value analysis
(`weir.queueing.mva`) says its mean response time and throughput.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from weir.queueing.mva import ClosedStation, closed_station
from weir.records._brokers import (
    METRICS,
    BrokerShape,
    Measured,
    Sampler,
    measured,
    sample_interval_s,
)
from weir.records.slices import SLICE_RECORDS, Slice, Text

NAME = "requests"
TITLE = "An hour of requests"
TABLES = ("requests", "samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The figures of an hour of requests; all are ours."""

    began_s: float = 1_704_205_800.0
    """When the hour begins: 2024-01-02, 14:30 UTC."""
    hour_s: float = 3_600.0
    """Seconds of the hour."""
    think_s: float = 1.0
    """Mean seconds for which a client thinks; multiplied, as `exec_s`, so that the records fit."""
    exec_s: float = 0.06
    """Mean seconds of an execution."""
    clients: int = 25
    """Clients of a service."""
    servers: int = 1
    """Executions of a service at a time."""
    network_s: float = 0.0004
    """Seconds that request and answer are on their way together."""
    unanswered: float = 0.01
    """Chance with which an answer is not recorded; its client goes on all the same."""
    gold: float = 0.2
    """Part of the clients that is of the class gold; the others are public. Nobody is preferred."""
    bytes_low: int = 200
    """Bytes of the shortest request with its answer; uniform up to `bytes_high`, by service."""
    bytes_high: int = 4_000
    """Bytes of the longest request with its answer."""
    brokers: int = 4
    """Brokers on which services and clients are spread at random."""
    broker: BrokerShape = field(default_factory=BrokerShape)
    """What is measured of brokers: in are requests sent there, out those answered there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The truth behind the log of an hour of requests; client c asks service c // clients."""

    shape: Shape
    measured: Measured
    think_s: float
    exec_s: float
    """Both as they are in this log, in seconds."""
    names: tuple[str, ...]
    clients: tuple[str, ...]
    broker_of_service: NDArray[np.int32]
    broker_of_client: NDArray[np.int32]
    class_of: NDArray[np.int32]
    """By client, its place in gold, public."""
    bytes_of: NDArray[np.int64]

    def station(self) -> ClosedStation:
        """Return the equilibrium of each service; its response time is without the network."""
        return _station(self.shape, self.think_s, self.exec_s)


def _station(shape: Shape, think_s: float, exec_s: float) -> ClosedStation:
    # What a request is on its way adds to the time in which it is not at the station.
    away_s = think_s + shape.network_s
    return closed_station(
        senders=shape.clients, think_s=away_s, exec_s=exec_s, servers=shape.servers
    )


def services_of(shape: Shape, *, records: int, seed: int) -> Services:
    """Return the services whose hour has about so many records."""
    rng = np.random.default_rng([seed, 41])
    interval_s = sample_interval_s(
        shape.broker, brokers=shape.brokers, duration_s=shape.hour_s, records=records
    )
    samples = shape.brokers * len(METRICS) * shape.hour_s / interval_s
    per_s = (records - samples) / shape.hour_s
    natural = _station(shape, shape.think_s, shape.exec_s)
    count = max(round(per_s / natural.throughput_per_s), 1)
    # All times but the network's by one factor; it is a small part, so few rounds are enough.
    factor = 1.0
    for _ in range(50):
        station = _station(shape, factor * shape.think_s, factor * shape.exec_s)
        factor *= count * station.throughput_per_s / per_s
    clients = count * shape.clients
    broker_of_client = rng.integers(shape.brokers, size=clients, dtype=np.int32)
    broker_of_service = rng.integers(shape.brokers, size=count, dtype=np.int32)
    width = len(str(count))
    return Services(
        shape=shape,
        measured=measured(
            shape.broker,
            tuple(f"b{at + 1}" for at in range(shape.brokers)),
            np.bincount(
                np.concatenate([broker_of_client, broker_of_service]), minlength=shape.brokers
            ),
            interval_s=interval_s,
            began_s=shape.began_s,
            in_per_s=per_s,
            out_per_s=per_s,
        ),
        think_s=factor * shape.think_s,
        exec_s=factor * shape.exec_s,
        names=tuple(f"service-{at + 1:0{width}}" for at in range(count)),
        clients=tuple(
            f"client-{at + 1:0{width}}-{of + 1}"
            for at in range(count)
            for of in range(shape.clients)
        ),
        broker_of_service=broker_of_service,
        broker_of_client=broker_of_client,
        class_of=(rng.random(clients) >= shape.gold).astype(np.int32),
        bytes_of=rng.integers(shape.bytes_low, shape.bytes_high + 1, size=count),
    )


def slices(shape: Shape, *, records: int, seed: int) -> Iterator[Slice]:
    """Yield the log of an hour of requests; clients go on until somebody stops."""
    services = services_of(shape, records=records, seed=seed)
    truth = services.measured
    rng = np.random.default_rng([seed, 42])
    sampler = Sampler(truth, np.random.default_rng([seed, 43]))
    step_s = float(shape.hour_s / max(np.ceil(records / SLICE_RECORDS), 1.0))
    next_s = services.think_s * rng.standard_exponential((len(services.names), shape.clients))
    free_s = np.zeros((len(services.names), shape.servers))
    until_s = 0.0
    while True:
        until_s += step_s
        sent_s, client, delay_s = _served(services, next_s, free_s, until_s, rng)
        order = np.argsort(sent_s, kind="stable")
        sent_s, client, delay_s = sent_s[order], client[order], delay_s[order]
        service = client // np.int32(shape.clients)
        broker, origin = services.broker_of_client[client], services.broker_of_service[service]
        messages, size = np.ones(len(client), dtype=np.int64), services.bytes_of[service]
        sampler.add(0, sent_s, broker, messages, size)
        sampler.add(1, sent_s, origin, messages, size)
        delay_s[rng.random(len(delay_s), dtype=np.float32) < shape.unanswered] = np.nan
        yield Slice(
            tables={
                "requests": {
                    "at_s": truth.began_s + sent_s,
                    "topic": Text(names=services.names, codes=service),
                    "subscriber": Text(names=services.clients, codes=client),
                    "consumer_class": Text(
                        names=("gold", "public"), codes=services.class_of[client]
                    ),
                    "broker": Text(names=truth.brokers, codes=broker),
                    "origin": Text(names=truth.brokers, codes=origin),
                    "delay_s": delay_s,
                    "messages": messages,
                    "bytes": size,
                },
                "samples": sampler.samples(until_s),
            }
        )


def _served(
    services: Services,
    next_s: NDArray[np.float64],
    free_s: NDArray[np.float64],
    until_s: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Return when what is sent before `until_s` was sent, by which client, and its delay."""
    # Only who makes a log waits for the compiler, not who lists the kinds.
    from weir.records._closed_loop import serve

    chunks: list[tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]] = []
    service = 0
    while service < len(next_s):
        room = (np.empty(SLICE_RECORDS), np.empty(SLICE_RECORDS, np.int32), np.empty(SLICE_RECORDS))
        count, service = serve(
            service,
            next_s,
            free_s,
            until_s,
            services.think_s,
            services.exec_s,
            services.shape.network_s,
            rng,
            *room,
        )
        chunks.append((room[0][:count], room[1][:count], room[2][:count]))
    sent_s, client, delay_s = (np.concatenate(each) for each in zip(*chunks, strict=True))
    return sent_s, client, delay_s
