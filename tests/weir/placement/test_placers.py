"""What every method promises, and what each is for: room, fewest brokers, levels, groups, moves."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import plain, problem
from weir.codec.placement import placement_from_dict
from weir.errors import UnknownMethod
from weir.model.placement import NOWHERE, Objectives, PlacementProblem
from weir.placement import DEFAULT, placer, placers
from weir.placement.moves import moved
from weir.plugins import describe, discover
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.traces import delays_s, quantile_of, work_over

METHODS = sorted(placers())
PAPER_ROOM = [70_000.0, 40_000.0, 30_000.0, 20_000.0, 10_000.0]
"""Section 6.3: 80,000 less the loads of Figure 8; the sixth broker has none."""


def place(given_: PlacementProblem, method: str = DEFAULT, **params: Any) -> Any:
    chosen = placer(method)
    return chosen.place(given_, chosen.Params(**params), seed=0)


def carried(given_: PlacementProblem, placement: Any) -> np.ndarray:
    served = placement.broker_of != NOWHERE
    return np.bincount(
        placement.broker_of[served],
        weights=given_.publishers.rates_per_s[served],
        minlength=len(given_.brokers),
    )


cases = st.fixed_dictionaries(
    {
        "rates": st.lists(st.sampled_from([1.0, 2.0, 3.5, 10.0]), min_size=1, max_size=30)
        | st.integers(1, 30).map(lambda count: [5.0] * count),
        "room": st.lists(st.floats(0.0, 120.0).map(lambda x: round(x, 3)), min_size=1, max_size=5),
        "keys": st.lists(st.sampled_from([None, "g", "h"]), min_size=30, max_size=30),
    }
)


def read(case: dict[str, Any], **more: Any) -> PlacementProblem:
    keys = case["keys"][: len(case["rates"])]
    return problem(case["rates"], case["room"], groups=keys, **more)


@pytest.mark.parametrize("name", METHODS)
def test_method_keeps_the_contract(name: str) -> None:
    module = discover("weir.placement")[name]
    assert name == module.NAME
    assert module.TITLE
    assert module.SUMMARY.endswith(".")
    assert all(not each["required"] for each in describe(module.Params))


def test_unknown_method_names_the_known_ones() -> None:
    with pytest.raises(UnknownMethod, match="known are concentrated"):
        placer("best")


@pytest.mark.parametrize("name", METHODS)
@settings(deadline=None, max_examples=60)
@given(case=cases)
def test_no_broker_takes_more_than_it_has_room_for(name: str, case: dict[str, Any]) -> None:
    given_ = read(case)
    placement = place(given_, name)
    load = carried(given_, placement)
    for at, broker in enumerate(given_.brokers):
        assert load[at] <= broker.room_per_s * (1 + 2e-9)
    served = float(load.sum())
    if served:
        rates = sum(share.token_rate_per_s for share in placement.shares.values())
        sizes = sum(share.bucket for share in placement.shares.values())
        assert rates == pytest.approx(given_.contract.token_rate_per_s, rel=1e-9)
        assert sizes == pytest.approx(given_.contract.bucket, rel=1e-9)
        for at, share in placement.shares.items():
            assert share.token_rate_per_s == pytest.approx(rates * load[at] / served, rel=1e-9)
    assert (placement.need_brokers is None) or not placement.complete


def fewest_by_search(rates: list[float], room: list[float]) -> int | None:
    """Return the least number of brokers that hold whole publishers; None where all do not."""
    for count in range(1, len(room) + 1):
        for chosen in combinations(room, count):
            for where in product(range(count), repeat=len(rates)):
                load = [0.0] * count
                for rate, at in zip(rates, where, strict=True):
                    load[at] += rate
                if all(used <= free for used, free in zip(load, chosen, strict=True)):
                    return count
    return None


@pytest.mark.parametrize("name", ["srtm", "max_min", "concentrated"])
@settings(deadline=None, max_examples=60)
@given(
    rates=st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0]), min_size=1, max_size=6),
    room=st.lists(st.sampled_from([2.0, 3.0, 5.0, 6.0, 9.0]), min_size=1, max_size=3),
)
def test_as_few_brokers_as_an_exhaustive_search_finds(
    name: str, rates: list[float], room: list[float]
) -> None:
    placement = place(problem(rates, room), name)
    fewest = fewest_by_search(rates, room)
    assert placement.complete == (fewest is not None)
    if fewest is not None:
        assert len(placement.shares) <= fewest


def test_scenario_of_figure_8_at_10_000_publishers() -> None:
    rates = [10.0] * 10_000
    given_ = problem(rates, PAPER_ROOM)
    by_method = {name: carried(given_, place(given_, name)).tolist() for name in METHODS}
    # Max-min: 50,000 each where there is room for that; the paper's min(room, rate / k) gives the
    # second broker 40,000 and leaves 10,000 to nobody.
    assert by_method["max_min"] == [60_000, 40_000, 0, 0, 0]
    assert by_method["srtm"] == by_method["max_min"]


def test_even_totals_and_even_parts() -> None:
    more = {"publishers": plain([10.0] * 8_000, [1.0])["publishers"]}
    text = plain([10.0], PAPER_ROOM, more=more)
    text["topic"]["rate"], text["topic"]["token_rate"] = 80_000.0, 88_000.0
    for broker, existing in zip(text["brokers"], (10, 40, 50, 60, 70), strict=True):
        broker.update(max_rate=80_000.0, allocated_rate=existing * 1_000.0)
    given_ = placement_from_dict(text)
    assert carried(given_, place(given_, "concentrated")).tolist() == [55_000, 25_000, 0, 0, 0]
    assert carried(given_, place(given_, "max_min")).tolist() == [40_000, 40_000, 0, 0, 0]
    assert carried(given_, place(given_, "load_balanced")).tolist() == [
        50_000,
        20_000,
        10_000,
        0,
        0,
    ]


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    room=st.lists(st.integers(5, 40), min_size=2, max_size=4),
)
def test_groups_are_split_within_one_of_proportional(sizes: list[int], room: list[int]) -> None:
    keys: list[str | None] = [f"g{at}" for at, size in enumerate(sizes) for _ in range(size)]
    given_ = problem([2.0] * len(keys), [2.0 * free for free in room], groups=keys)
    placement = place(given_)
    if not placement.complete:
        return
    counts = np.bincount(placement.broker_of, minlength=len(room))
    for at, size in enumerate(sizes):
        members = placement.broker_of[given_.publishers.groups == at]
        cells = np.bincount(members, minlength=len(room))
        assert (np.abs(cells - size * counts / len(keys)) < 1).all()


def test_splitting_groups_shortens_the_wait() -> None:
    keys: list[str | None] = [f"g{at // 25}" for at in range(8_000)]
    given_ = problem([10.0] * 8_000, PAPER_ROOM, groups=keys, topic={"bucket": 120})
    assert place(given_, "srtm").p99_s < place(given_, "max_min").p99_s


def test_what_has_no_room_is_named_and_counted() -> None:
    placement = place(problem([10.0] * 10, [40.0, 25.0]))
    assert np.count_nonzero(placement.broker_of == NOWHERE) == 4
    assert not placement.complete
    assert placement.need_brokers == 1  # of 40: four more
    assert place(problem([10.0] * 20, [40.0, 25.0])).need_brokers == 4
    assert place(problem([50.0], [40.0])).need_brokers is None
    assert place(problem([50.0], [0.0])).need_brokers is None


@pytest.mark.parametrize("name", METHODS)
def test_pins_and_drained_brokers_hold(name: str) -> None:
    text = plain([10.0] * 6, [100.0, 100.0, 100.0], more={"pins": {"p0003": "b2"}})
    text["brokers"][0]["drained"] = True
    placement = place(placement_from_dict(text), name)
    assert placement.complete
    assert placement.broker_of[3] == 2
    assert 0 not in placement.shares


@pytest.mark.parametrize("name", METHODS)
def test_a_pin_without_room_is_not_broken(name: str) -> None:
    pins = {"p0000": "b0", "p0001": "b0"}
    given_ = problem([10.0, 3.0, 3.0], [5.0, 100.0], more={"pins": pins})
    placement = place(given_, name)
    # The one that is too large does not take the other's place.
    assert placement.broker_of.tolist() == [NOWHERE, 0, 1]
    assert placement.need_brokers is None


def test_whoever_must_leave_a_full_broker_is_as_few_as_can_be() -> None:
    rates = [100.0, *[1.0] * 50]
    today = {f"p{at:04}": "b0" for at in range(51)}
    given_ = problem(rates, [99.0, 200.0], more={"previous": today})
    placement = place(given_)
    assert moved(given_, placement).tolist() == [0]
    assert placement.complete


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("room", [[1e20, 1e20], [6e18, 6e18], [1e29]])
def test_room_beyond_all_numbers_of_publishers(name: str, room: list[float]) -> None:
    assert place(problem([1.0, 1.0, 1.0], room), name).complete


@pytest.mark.parametrize("count", [3, 7, 10, 23])
def test_a_contract_of_exactly_what_is_sent_has_no_bound(count: int) -> None:
    whole = round(0.7 * count, 6)
    given_ = problem([0.7] * count, [100.0], topic={"token_rate": whole})
    assert place(given_).shares[0].p99_s is None


def test_many_unequal_publishers_fill_a_broker_to_the_last_message() -> None:
    rng = np.random.default_rng(3)
    rates = rng.choice([0.1, 0.3, 0.7], 30_000).tolist()
    placement = place(problem(rates, [sum(rates)]))
    assert placement.complete


def test_further_brokers_are_counted_exactly_where_few_are_left() -> None:
    text = plain([4.0, 4.0, 3.0, 3.0, 3.0, 3.0], [10.0])
    text["brokers"][0]["drained"] = True
    assert place(placement_from_dict(text)).need_brokers == 2


def test_only_those_of_a_drained_broker_move() -> None:
    today = {f"p{at:04}": f"b{at % 2}" for at in range(10)}
    text = plain([10.0] * 10, [100.0, 100.0, 100.0], more={"previous": today})
    kept = placement_from_dict(text)
    assert moved(kept, place(kept)).tolist() == []
    text["brokers"][0]["drained"] = True
    given_ = placement_from_dict(text)
    placement = place(given_)
    assert moved(given_, placement).tolist() == [0, 2, 4, 6, 8]
    assert placement.complete
    # The broker that serves the topic already takes them: no further split.
    assert set(placement.shares) == {1}


def test_whoever_was_on_a_broker_that_is_gone_is_placed() -> None:
    text = plain([10.0] * 4, [100.0], more={"previous": {"p0001": "gone"}})
    with pytest.raises(AssertionError):
        assert placement_from_dict(text).publishers.today[1] != NOWHERE
    assert place(placement_from_dict(text)).complete


def test_all_move_where_only_that_keeps_the_objective() -> None:
    today = {f"p{at:04}": f"b{at % 2}" for at in range(1_000)}
    work = PoissonWork(1 / 1.1)
    free = 1 + work.quantile(0.99)
    text = plain(
        [10.0] * 1_000,
        [80_000.0, 80_000.0],
        more={"previous": today},
        topic={"bucket": free * 1.001, "slo_p99_s": 0.0005},
    )
    given_ = placement_from_dict(text)
    anew = place(given_)
    assert len(anew.shares) == 1
    assert anew.meets(Objectives(p99_s=0.0005))
    staying = place(given_, stay=True)
    assert staying.p99_s == anew.p99_s
    text["topic"]["slo_p99_s"] = None
    loose = placement_from_dict(text)
    assert moved(loose, place(loose)).tolist() == []


def test_predicted_percentiles_are_those_of_an_independent_simulation() -> None:
    keys: list[str | None] = [f"g{at // 8}" if at < 160 else None for at in range(240)]
    given_ = problem(
        [10.0] * 240,
        [1_600.0, 900.0],
        groups=keys,
        topic={"bucket": 30, "batch": 2, "token_rate": 3_300.0},
    )
    placement = place(given_)
    rng = np.random.default_rng(5)
    length_s = 4_000.0
    for at, share in placement.shares.items():
        here = np.flatnonzero(placement.broker_of == at)
        groups = given_.publishers.groups[here]
        senders = [int((groups == g).sum()) for g in np.unique(groups[groups >= 0])]
        senders += [1] * int((groups == NOWHERE).sum())
        times = []
        for members in senders:
            events = np.sort(rng.uniform(0, length_s, rng.poisson(10.0 / 2 * length_s)))
            times.append(np.repeat(events, 2 * members))
        stream = np.sort(np.concatenate(times), kind="stable")
        work, _ = work_over(stream, share.token_rate_per_s)
        delays = delays_s(work, rate_per_s=share.token_rate_per_s, size=share.bucket)
        estimate = quantile_of(delays, 0.99, confidence=0.999)
        assert estimate.conclusive
        assert estimate.low <= share.p99_s <= estimate.high
        assert share.mean_s == pytest.approx(float(delays.mean()), rel=0.1)


def test_a_topic_said_to_send_more_than_its_publishers_counts_for_more() -> None:
    given_ = problem([10.0], [50.0], topic={"rate": 100.0})
    assert not place(given_).complete


def test_an_overloaded_contract_has_no_bound() -> None:
    given_ = problem([10.0] * 4, [100.0], topic={"token_rate": 40.0, "slo_p99_s": 1.0})
    placement = place(given_)
    assert placement.complete
    assert placement.shares[0].p99_s is None
    assert placement.meets(Objectives(p99_s=1.0)) is False
