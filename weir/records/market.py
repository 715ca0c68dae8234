"""A trading day: topics of markets by popularity, busy at open and close, and news.

Topics, users, interests and rates are those of the slides' market (`weir.clustering.loads`). News
makes many topics of one market move together within milliseconds. Each topic comes from one feed
handler; deliveries take longer while the market is busy.

References:
    P. C. Jain, G.-H. Joh. The dependence between hourly prices and trading volume. J. Financial
    and Quantitative Analysis 23(3), 1988: volume over a trading day has the shape of a U.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from weir.clustering.loads import SLIDES, MarketShape, market_load
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

NAME = "market"
TITLE = "A trading day of market data"
TABLES = ("messages", "deliveries", "samples")

_KNOTS = 8193
"""Moments of a session between which its intensity is taken for constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The figures of a trading day; ours where nothing else is said."""

    began_s: float = 1_704_205_800.0
    """When the market opens: 2024-01-02, 14:30 UTC."""
    session_s: float = 23_400.0
    """Seconds from open to close: 6.5 hours, as in New York."""
    load: MarketShape = SLIDES
    """Topics, users, interests and fan-out of the whole market (the slides)."""
    whole_records: float = 20e6
    """Records from which on the load has its whole size; that of fewer has topics in proportion
    and users, and interests of each, in proportion to the root, so that the fan-out stays."""
    smallest: float = 0.01
    """Part of the topics that is never gone below."""
    edge_ratio: float = 3.0
    """Intensity at open and close over that in the middle; a parabola between (U: Jain, Joh)."""
    news_messages: float = 0.1
    """Part of the rows of messages that news makes."""
    news_topics: float = 0.3
    """Chance with which a topic of the market takes part when there is news."""
    news_spread_s: float = 0.002
    """Mean seconds, exponential, from the news until a topic's message."""
    batch: float = 1.25
    """Messages that are sent at once on average, geometric from 1 on."""
    handlers_per_market: int = 3
    """Feed handlers that share the topics of a market."""
    brokers: int = 8
    """Brokers on which handlers and users are spread at random."""
    gold: float = 0.2
    """Part of the users that is of the class gold; the others are public."""
    gold_tail: float = 0.5
    """Factor on the tail of delays of gold users."""
    bytes_low: int = 60
    """Bytes of the shortest message; each topic's are of one length, uniform up to `bytes_high`."""
    bytes_high: int = 240
    """Bytes of the longest message."""
    tail: Tail = field(default_factory=Tail)
    """Its median is in proportion to the intensity of the moment, which is 1 on average."""
    broker: BrokerShape = field(default_factory=BrokerShape)
    """What is measured of brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """The truth behind the log of a trading day: who, where, and how often on average."""

    shape: Shape
    network: Network
    measured: Measured
    market_of: NDArray[np.int32]
    """By topic."""
    handler_of: NDArray[np.int32]
    """By topic, the place of its publisher."""
    rows_per_s: NDArray[np.float64]
    """By topic, rows of messages outside of news per second, on average over the session."""
    news_per_s: NDArray[np.float64]
    """By market, on average over the session."""

    def all_rows_per_s(self) -> NDArray[np.float64]:
        """Return rows of messages per second by topic, with those of news."""
        return self.rows_per_s + self.shape.news_topics * self.news_per_s[self.market_of]

    def intensity(self, at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how busy the market is, 1 on average, so many seconds after it opened."""
        lowest = 1.0 / (1.0 + (self.shape.edge_ratio - 1.0) / 3.0)
        from_noon = 2.0 * np.clip(at_s / self.shape.session_s, 0.0, 1.0) - 1.0
        return lowest * (1.0 + (self.shape.edge_ratio - 1.0) * from_noon**2)


def load_shape(shape: Shape, records: int) -> MarketShape:
    """Return the market's figures for a log of so many records."""
    part = float(np.clip(records / shape.whole_records, shape.smallest, 1.0))
    whole, root = shape.load, np.sqrt(part)
    return replace(
        whole,
        flows=max(round(whole.flows * part), 1),
        users=max(round(whole.users * root), 1),
        least=max(round(whole.least * root), 1),
        mean=max(whole.mean * root, 1.0),
        most=max(round(whole.most * root), 1),
    )


def market_of(shape: Shape, *, records: int, seed: int) -> Market:
    """Return the market whose session has about so many records."""
    rng = np.random.default_rng([seed, 21])
    load = market_load(seed, load_shape(shape, records))
    names, count = load.flows, len(load.flows)
    market = np.array([int(name[1 : name.index("/")]) - 1 for name in names], dtype=np.int32)
    markets = int(market.max()) + 1
    handlers = shape.handlers_per_market
    handler = (market * handlers + rng.integers(handlers, size=count)).astype(np.int32)
    users = len(load.users)
    network = Network(
        topics=names,
        bytes_of=rng.integers(shape.bytes_low, shape.bytes_high + 1, size=count),
        publishers=tuple(
            f"feed-m{at // handlers + 1}-{at % handlers + 1}" for at in range(markets * handlers)
        ),
        broker_of_publisher=rng.integers(shape.brokers, size=markets * handlers, dtype=np.int32),
        subscribers=load.users,
        broker_of_subscriber=rng.integers(shape.brokers, size=users, dtype=np.int32),
        class_of=(rng.random(users) >= shape.gold).astype(np.int32),
        classes=("gold", "public"),
        tail_of=np.array([shape.gold_tail, 1.0]),
        starts=load.interests.starts,
        audiences=load.interests.users,
        base_s=base_delays_s(shape.brokers, shape.broker, rng),
        tail=shape.tail,
    )
    interval_s = sample_interval_s(
        shape.broker, brokers=shape.brokers, duration_s=shape.session_s, records=records
    )
    # News comes to a market in proportion to its topics.
    sizes = np.bincount(market, minlength=markets)
    news = sizes / count
    ordinary = load.rates_per_s / load.rates_per_s.sum() * (1.0 - shape.news_messages)
    in_news = news[market] / (news @ sizes) * shape.news_messages
    receivers = load.interests.audiences
    per_row = 1.0 + float((ordinary + in_news) @ receivers)
    samples = shape.brokers * len(METRICS) * shape.session_s / interval_s
    rows_per_s = (records - samples) / per_row / shape.session_s
    return Market(
        shape=shape,
        network=network,
        measured=measured(
            shape.broker,
            tuple(f"b{at + 1}" for at in range(shape.brokers)),
            network.connections(),
            interval_s=interval_s,
            began_s=shape.began_s,
            in_per_s=rows_per_s * shape.batch,
            out_per_s=rows_per_s * shape.batch * (per_row - 1.0),
        ),
        market_of=market,
        handler_of=handler,
        rows_per_s=ordinary * rows_per_s,
        news_per_s=news * shape.news_messages * rows_per_s / (shape.news_topics * (news @ sizes)),
    )


def slices(shape: Shape, *, records: int, seed: int) -> Iterator[Slice]:
    """Yield the log of a trading day; trade goes on as at the close until somebody stops."""
    market = market_of(shape, records=records, seed=seed)
    # Equal parts of what is traded, not of time: each slice has as many records.
    step_s = shape.session_s / max(np.ceil(records / SLICE_RECORDS), 1.0)
    return log_of(_published(market, step_s, seed), market.network, market.measured, seed)


def _published(market: Market, step_s: float, seed: int) -> Iterator[Published]:
    """Yield what is published; `step_s` of a market that is always as busy as on average."""
    rng = np.random.default_rng([seed, 22])
    shape = market.shape
    knots = np.linspace(0.0, shape.session_s, _KNOTS)
    middle = market.intensity((knots[1:] + knots[:-1]) / 2.0)
    passed = np.concatenate([[0.0], np.cumsum(middle * np.diff(knots))])
    close = float(market.intensity(knots[-1:])[0])

    def clock(even_s: NDArray[np.float64]) -> NDArray[np.float64]:
        after = np.maximum(even_s - passed[-1], 0.0) / close
        at_s: NDArray[np.float64] = np.interp(even_s, passed, knots) + after
        return at_s

    topics = np.cumsum(market.rows_per_s)
    members = [np.flatnonzero(market.market_of == at) for at in range(len(market.news_per_s))]
    number = 0
    while True:
        ends = np.array([number, number + 1.0]) * step_s
        count = rng.poisson(topics[-1] * step_s)
        gaps = np.cumsum(rng.standard_exponential(count + 1))
        even_s = ends[0] + gaps[:-1] / gaps[-1] * step_s
        topic = np.searchsorted(topics, rng.random(count) * topics[-1], side="right")
        times, sent = [clock(even_s)], [np.minimum(topic, len(topics) - 1)]
        for of_market, often in zip(members, market.news_per_s.tolist(), strict=True):
            news_s = clock(ends[0] + step_s * rng.random(rng.poisson(often * step_s)))
            for at_s in news_s.tolist():
                moved = of_market[rng.random(len(of_market)) < shape.news_topics]
                times.append(at_s + rng.exponential(shape.news_spread_s, len(moved)))
                sent.append(moved)
        at_s, topic = np.concatenate(times), np.concatenate(sent).astype(np.int32)
        yield Published(
            until_s=float(clock(ends[1:])[0]),
            at_s=at_s,
            topic=topic,
            publisher=market.handler_of[topic],
            messages=rng.geometric(1.0 / shape.batch, size=len(topic)),
            log_busy=np.log(market.intensity(at_s)).astype(np.float32),
        )
        number += 1
