"""What is published goes to everybody who wants its topic: rows of messages and of deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weir.records._brokers import Measured, Sampler
from weir.records.slices import Ahead, Slice, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """How much longer than its smallest delay a delivery takes: log-normal; figures are ours."""

    median_s: float = 0.0008
    """Median, in seconds, of the slower class at an average moment."""
    sigma: float = 0.6
    """Standard deviation of its natural logarithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Who publishes and receives what, and where: the truth behind messages and deliveries."""

    topics: tuple[str, ...]
    bytes_of: NDArray[np.int64]
    """Bytes of a message, by topic."""
    publishers: tuple[str, ...]
    broker_of_publisher: NDArray[np.int32]
    subscribers: tuple[str, ...]
    broker_of_subscriber: NDArray[np.int32]
    class_of: NDArray[np.int32]
    """By subscriber, its place in `classes`."""
    classes: tuple[str, ...]
    tail_of: NDArray[np.float64]
    """By class, the factor on the tail of its delays."""
    starts: NDArray[np.int64]
    """The audience of topic t is `audiences[starts[t]:starts[t + 1]]`."""
    audiences: NDArray[np.int32]
    base_s: NDArray[np.float64]
    """Smallest delay from each broker to each, in seconds."""
    tail: Tail

    def connections(self) -> NDArray[np.int64]:
        """Return how many publishers and subscribers each broker has."""
        ends = np.concatenate([self.broker_of_publisher, self.broker_of_subscriber])
        return np.bincount(ends, minlength=len(self.base_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was made in one span of time, in any order; some of it may be sent behind its end."""

    until_s: float
    """End of the span; times are in seconds since the log began."""
    at_s: NDArray[np.float64]
    topic: NDArray[np.int32]
    publisher: NDArray[np.int32]
    messages: NDArray[np.int64]
    log_busy: NDArray[np.float32]
    """Natural logarithm of the factor on the tail of delays at that moment."""


def log_of(
    published: Iterator[Published], network: Network, truth: Measured, seed: int
) -> Iterator[Slice]:
    """Yield the log of what is published: it, its deliveries, and samples of the brokers."""
    rng = np.random.default_rng([seed, 101])
    sampler = Sampler(truth, np.random.default_rng([seed, 102]))
    sending, receiving = Ahead(), Ahead()
    for span in published:
        sent: dict[str, NDArray[Any]] = sending.exchange(
            {
                "at_s": span.at_s,
                "topic": span.topic,
                "publisher": span.publisher,
                "messages": span.messages,
                "log_busy": span.log_busy,
            },
            span.until_s,
        )
        order = np.argsort(sent["at_s"], kind="stable")
        sent = {key: column[order] for key, column in sent.items()}
        sent["broker"] = network.broker_of_publisher[sent["publisher"]]
        sent["bytes"] = sent["messages"] * network.bytes_of[sent["topic"]]
        got: dict[str, NDArray[Any]] = receiving.exchange(
            _deliveries(network, sent, rng), span.until_s
        )
        for way, rows in enumerate((sent, got)):
            sampler.add(way, rows["at_s"], rows["broker"], rows["messages"], rows["bytes"])
        yield Slice(
            tables={
                "messages": {
                    "at_s": truth.began_s + sent["at_s"],
                    "topic": Text(names=network.topics, codes=sent["topic"]),
                    "publisher": Text(names=network.publishers, codes=sent["publisher"]),
                    "broker": Text(names=truth.brokers, codes=sent["broker"]),
                    "messages": sent["messages"],
                    "bytes": sent["bytes"],
                },
                "deliveries": {
                    "at_s": truth.began_s + got["at_s"],
                    "topic": Text(names=network.topics, codes=got["topic"]),
                    "subscriber": Text(names=network.subscribers, codes=got["subscriber"]),
                    "consumer_class": Text(
                        names=network.classes, codes=network.class_of[got["subscriber"]]
                    ),
                    "broker": Text(names=truth.brokers, codes=got["broker"]),
                    "origin": Text(names=truth.brokers, codes=got["origin"]),
                    "delay_s": got["delay_s"].astype(np.float64),
                    "messages": got["messages"],
                    "bytes": got["bytes"],
                },
                "samples": sampler.samples(span.until_s),
            }
        )


def _deliveries(
    network: Network, sent: dict[str, NDArray[Any]], rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return a row for everybody who wants a message; delays have the precision of a float32."""
    starts = network.starts[sent["topic"]]
    counts = network.starts[sent["topic"] + 1] - starts
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    row = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    subscriber = network.audiences[np.arange(total) - (ends - counts - starts)[row]]
    broker = network.broker_of_subscriber[subscriber]
    origin = sent["broker"][row]
    brokers = len(network.base_s)
    base_s = network.base_s.astype(np.float32).ravel()
    log_tail = np.log(network.tail_of * network.tail.median_s).astype(np.float32)
    delay_s = rng.standard_normal(total, dtype=np.float32)
    delay_s *= np.float32(network.tail.sigma)
    delay_s += log_tail[network.class_of][subscriber]
    delay_s += sent["log_busy"][row]
    np.exp(delay_s, out=delay_s)
    delay_s += base_s[origin * brokers + broker]
    return {
        "at_s": sent["at_s"][row] + delay_s,
        "topic": sent["topic"][row],
        "subscriber": subscriber,
        "broker": broker,
        "origin": origin,
        "delay_s": delay_s,
        "messages": sent["messages"][row],
        "bytes": sent["bytes"][row],
    }
