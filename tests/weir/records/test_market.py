"""A generated trading day shows what its shape says: rates, the U, news, interests, delays."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.weir.records.logs import (
    LIMIT,
    check_deliveries,
    check_samples,
    poisson_z,
    slices_of,
    tables_of,
)
from weir.clustering.loads import fan_out, market_load
from weir.records.market import Shape, load_shape, market_of

RECORDS, SEED = 300_000, 5
UNTIL_S = 0.95 * Shape().session_s
APART_S = 0.02
"""Messages of a market that are farther apart than this belong to different news."""


@pytest.fixture(scope="module")
def market():
    return market_of(Shape(), records=RECORDS, seed=SEED)


@pytest.fixture(scope="module")
def tables():
    return tables_of(slices_of("market", RECORDS, SEED))


@pytest.fixture(scope="module")
def sent_s(market, tables):
    return tables["messages"]["at_s"] - market.measured.began_s


def busy_s(market, since_s, until_s):
    """Return the seconds between two moments in terms of a market that is busy as on average."""
    moments = np.linspace(since_s, until_s, 20_001)
    return market.intensity((moments[1:] + moments[:-1]) / 2).mean() * (until_s - since_s)


def test_topics_have_their_rates(market, tables, sent_s):
    topics = tables["messages"]["topic"][sent_s < UNTIL_S]
    expected = market.all_rows_per_s() * busy_s(market, 0, UNTIL_S)
    count = np.bincount(topics, minlength=len(expected))
    often = expected > 5
    assert often.sum() > 100
    apart = poisson_z(count, expected)[often]
    assert abs(apart).max() < LIMIT
    assert abs(np.mean(apart**2) - 1) * np.sqrt(len(apart) / 2) < LIMIT


def test_messages_come_by_handlers_in_batches_of_one_length(market, tables):
    messages = tables["messages"]
    assert (messages["publisher"] == market.handler_of[messages["topic"]]).all()
    where = market.network.broker_of_publisher[messages["publisher"]]
    assert (messages["broker"] == where).all()
    length = market.network.bytes_of[messages["topic"]]
    assert (messages["bytes"] == messages["messages"] * length).all()
    spread = np.sqrt(market.shape.batch * (market.shape.batch - 1))
    apart = messages["messages"].mean() - market.shape.batch
    assert abs(apart) * np.sqrt(len(length)) / spread < LIMIT


def test_day_is_busy_at_open_and_close(market, tables, sent_s):
    sizes = np.bincount(market.market_of)
    part = market.shape.news_topics
    rows = market.rows_per_s.sum() + market.news_per_s @ (part * sizes)
    square = market.news_per_s @ ((part * sizes) ** 2 + sizes * part * (1 - part))
    for since_s, until_s in ((0, 1800), (10_800, 12_600), (20_000, 21_800)):
        seconds = busy_s(market, since_s, until_s)
        count = ((sent_s >= since_s) & (sent_s < until_s)).sum()
        spread = np.sqrt((market.rows_per_s.sum() + square) * seconds)
        assert abs(count - rows * seconds) / spread < LIMIT
    assert busy_s(market, 0, 1800) > 2.5 * busy_s(market, 10_800, 12_600)


def test_news_moves_topics_of_one_market_together(market, tables, sent_s):
    sizes = np.bincount(market.market_of)
    least = 12
    for of_market, size in enumerate(sizes[:3].tolist()):
        inside = market.market_of[tables["messages"]["topic"]] == of_market
        at_s = sent_s[inside & (sent_s < UNTIL_S)]
        ends = np.flatnonzero(np.diff(at_s, append=np.inf) > APART_S)
        bursts = (np.diff(ends, prepend=-1) >= least).sum()
        chance = binom.sf(least - 1, size, market.shape.news_topics)
        news = market.news_per_s[of_market] * busy_s(market, 0, UNTIL_S)
        assert news > 10
        assert abs(poisson_z(bursts, news * chance)) < LIMIT


def test_everybody_receives_what_it_wants_as_late_as_it_should(market, tables):
    check_deliveries(
        market.network,
        tables,
        market.intensity,
        until_s=UNTIL_S,
        began_s=market.measured.began_s,
    )


def test_samples_show_what_brokers_did(market, tables):
    rows = [(tables[name], tables[name]["broker"]) for name in ("messages", "deliveries")]
    check_samples(market.measured, tables, *rows)


@pytest.mark.parametrize("records", [1, 300_000, 3_000_000])
@pytest.mark.parametrize("seed", range(4))
def test_smaller_load_has_the_fan_out_of_the_whole_one(records, seed):
    shape = load_shape(Shape(), records)
    load = market_load(seed, shape)
    assert len(load.flows) == max(records / 1000, 200)
    assert fan_out(load) == pytest.approx(shape.fan_out, rel=0.01)
