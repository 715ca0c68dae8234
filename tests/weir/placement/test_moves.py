"""The price of each move: what predictions without it say, who must move, who shares a price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import plain, problem
from weir.codec.placement import placement_from_dict
from weir.model.placement import NOWHERE, Placement, PlacementProblem
from weir.placement import moves, placer
from weir.placement.moves import moved, price_of_moves
from weir.placement.options import Option, option


def anew(given_: PlacementProblem) -> Placement:
    """Return the placement of all publishers, wherever they are today."""
    chosen = placer("srtm")
    return chosen.place(given_, chosen.Params(stay=False), seed=0)


def with_all_moves(given_: PlacementProblem, placement: Placement) -> Option:
    """Return the delays once all have moved."""
    return option(given_, (), placement.broker_of)


def without(given_: PlacementProblem, placement: Placement, publisher: int) -> Option:
    """Return the delays where this one stays and all others move."""
    places = placement.broker_of.copy()
    places[publisher] = given_.publishers.today[publisher]
    return option(given_, (), places)


def largest(delays: Option) -> Any:
    each = [broker.p99_s for broker in delays.by_broker.values()]
    return None if None in each else max(each, default=None)


def near(wait_s: float | None) -> Any:
    """Return what a wait compares with; None, a wait without bound, with itself alone."""
    return None if wait_s is None else pytest.approx(wait_s, rel=1e-6, abs=1e-9)


@st.composite
def problems(draw: st.DrawFn) -> PlacementProblem:
    count, brokers = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    rates = draw(
        st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=count, max_size=count)
        | st.just([2.0] * count)
    )
    keys = st.sampled_from([None, "g", "h"])
    at = st.integers(0, brokers - 1)
    names = [f"p{number:04}" for number in range(count)]
    text = plain(
        rates,
        draw(st.lists(st.sampled_from([8.0, 20.0, 100.0]), min_size=brokers, max_size=brokers)),
        groups=draw(st.lists(keys, min_size=count, max_size=count)),
        more={
            "previous": {name: f"b{draw(at)}" for name in names if draw(st.booleans())},
            "pins": {name: f"b{draw(at)}" for name in names if draw(st.integers(0, 9)) == 0},
        },
        topic={"batch": draw(st.integers(1, 3)), "bucket": draw(st.sampled_from([1.0, 12.0]))},
    )
    text["topic"]["token_rate"] = sum(rates) * draw(st.sampled_from([0.9, 1.05, 2.0]))
    drained = draw(st.integers(0, brokers))
    if drained < brokers and f"b{drained}" not in text["pins"].values():
        text["brokers"][drained]["drained"] = True
    return placement_from_dict(text)


@settings(deadline=None, max_examples=80)
@given(problems())
def test_the_price_of_every_move_is_the_prediction_without_it(given_: PlacementProblem) -> None:
    placement = anew(given_)
    prices = price_of_moves(given_, placement)
    assert prices.p99_s == near(with_all_moves(given_, placement).whole.p99_s)
    priced = [at for price in prices.moves for at in price.publishers.tolist()]
    assert sorted(priced) == moved(given_, placement).tolist()
    for price in prices.moves:
        for at in price.publishers.tolist():
            assert given_.publishers.today[at] == price.today
            assert placement.broker_of[at] == price.to
            if price.must_move:
                continue
            alone = without(given_, placement, at)
            assert price.p99_without_s == near(alone.whole.p99_s)
            assert price.largest_p99_without_s == near(largest(alone))


@settings(deadline=None, max_examples=80)
@given(problems())
def test_whoever_could_not_stay_must_move_and_nobody_else(given_: PlacementProblem) -> None:
    placement = anew(given_)
    loads, publishers = given_.loads(), given_.publishers
    for price in price_of_moves(given_, placement).moves:
        broker = given_.brokers[price.today]
        for at in price.publishers.tolist():
            here = loads[placement.broker_of == price.today].sum() + loads[at]
            assert price.must_move == bool(
                broker.drained
                or here > broker.room_per_s * (1 + 1e-9)
                or publishers.pinned[at] not in (NOWHERE, price.today)
            )
        if price.must_move:
            assert price.p99_without_s is None


def test_a_publisher_that_stays_apart_makes_the_topic_wait() -> None:
    today = {f"p{at:04}": "b0" if at else "b1" for at in range(100)}
    given_ = problem([10.0] * 100, [2_000.0, 1_000.0], more={"previous": today})
    prices = price_of_moves(given_, anew(given_))
    (price,) = prices.moves
    assert price.publishers.tolist() == [0]
    assert not price.must_move
    # Alone it has a hundredth of the bucket, not half a message.
    assert price.p99_without_s > prices.p99_s
    assert price.largest_p99_without_s > price.p99_without_s


def test_publishers_that_send_alike_share_a_price() -> None:
    today = {f"p{at:04}": "b1" for at in range(60)}
    given_ = problem([10.0] * 60, [2_000.0, 1_000.0], more={"previous": today})
    (price,) = price_of_moves(given_, anew(given_)).moves
    assert len(price.publishers) == 60


def test_those_of_a_drained_broker_must_move() -> None:
    today = {f"p{at:04}": f"b{at % 2}" for at in range(10)}
    text = plain([10.0] * 10, [100.0] * 3, more={"previous": today})
    text["brokers"][0]["drained"] = True
    given_ = placement_from_dict(text)
    (price,) = price_of_moves(
        given_, placer("srtm").place(given_, placer("srtm").Params(), seed=0)
    ).moves
    assert price.must_move
    assert price.publishers.tolist() == [0, 2, 4, 6, 8]


def test_many_kinds_are_priced_by_the_largest_of_nearly_the_same_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates = np.random.default_rng(2).uniform(1.0, 8.0, 200).tolist()
    today = {f"p{at:04}": "b1" for at in range(200)}
    given_ = problem(rates, [5_000.0, 3_000.0], more={"previous": today})
    placement = anew(given_)
    monkeypatch.setattr(moves, "MOST_KINDS", 100)
    prices = price_of_moves(given_, placement).moves
    assert sum(len(price.publishers) for price in prices) == 200
    assert len(prices) <= 26
    loads = given_.loads()
    for price in prices:
        top = int(price.publishers[np.argmax(loads[price.publishers])])
        assert loads[top] == price.load_per_s <= loads[price.publishers].min() * 2 ** (1 / 8)
        alone = without(given_, placement, top)
        assert price.p99_without_s == near(alone.whole.p99_s)


def test_nobody_moves_where_nobody_was() -> None:
    given_ = problem([1.0] * 5, [10.0])
    placement = anew(given_)
    assert price_of_moves(given_, placement).moves == ()
