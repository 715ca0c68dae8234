"""What measured delays say of brokers, and placing by it until every broker keeps the objective."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import problem
from weir.model.placement import (
    NOWHERE,
    MeasuredDelays,
    Percentile,
    PlacementProblem,
)
from weir.placement.explained import explained_of
from weir.placement.options import ratio_at
from weir.placement.profiling import (
    WITHIN,
    Profile,
    by_rates_alone,
    fits,
    fitted,
    profile,
    search_rounds,
    verdicts,
)
from weir.placement.rounds import searched_by_halves
from weir.placement.simulated_brokers import SimulatedBrokers, senders_of
from weir.placement.what_if import WhatIf, changed
from weir.queueing.broker_delay import processing
from weir.queueing.poisson_work import PoissonWork

SLO = 1e-3
TRUE = 100_000.0
"""What a broker of the paper processes: those of its Figure 8 carry up to 80,000 messages per
second of other topics, and a topic beside them."""

PUBLISHERS, BATCH = 1_000, 10
SEARCHED_BY_THE_PAPER = {5: 1, 10: 3, 15: 9, 20: 12, 25: 14, 30: 17}
"""Table 1: publishers in lockstep, and all rounds of the search."""


def percentile(value: float, width: float = 0.1) -> Percentile:
    return Percentile(value_s=value, low_s=value * (1 - width), high_s=value * (1 + width))


def measured(
    own_s: float, *, delay_s: float | None = None, messages: int = 60_000, width: float = 0.1
) -> MeasuredDelays:
    return MeasuredDelays(
        messages=messages,
        seconds=60.0,
        delay=percentile(own_s if delay_s is None else delay_s, width),
        processing=percentile(own_s, width),
    )


def topic(
    at: list[str | None], room: list[float], *, more: dict[str, Any] | None = None, **named: Any
) -> PlacementProblem:
    """Return a topic whose publishers, 10 messages a second each, are at these brokers today."""
    today = {f"p{who:04}": broker for who, broker in enumerate(at) if broker is not None}
    contract = {"slo_p99_s": SLO, "bucket": 5_000, "batch": BATCH, **named.pop("topic", {})}
    return problem(
        [10.0] * len(at),
        room,
        topic=contract,
        more={"previous": today, **(more or {})},
        **named,
    )


def table_1(group: int, *, wrong: float, brokers: int = 12) -> PlacementProblem:
    """Return the new topic of section 6.5 over equal empty brokers whose publish rates are wrong.

    Its bucket is the smallest with which 99 % of the messages find a token at one broker, and a
    tenth more ("some margin", footnote 2): of that one alone, a minute says mostly chance.
    """
    groups: list[str | None] = [f"g{at // group:03}" for at in range(PUBLISHERS)]
    sizes = {group * BATCH: float(PUBLISHERS // group)}
    if rest := PUBLISHERS % group:
        sizes[rest * BATCH] = 1.0
    free = 1.0 + PoissonWork(1.0 / 1.1, sizes).quantile(0.99)
    return topic(
        [None] * PUBLISHERS,
        [TRUE * wrong] * brokers,
        groups=groups,
        topic={"token_rate": 11_000.0, "bucket": 1.1 * free},
    )


@settings(deadline=None, max_examples=40)
@given(
    speed=st.floats(2_000.0, 8e5),
    others=st.sampled_from([0.0, 300.0]),
    batch=st.sampled_from([1, 10]),
    groups=st.booleans(),
)
def test_the_fitted_speed_says_what_was_measured(
    speed: float, others: float, batch: int, groups: bool
) -> None:
    keys: list[str | None] = [f"g{at // 7}" if groups and at < 60 else None for at in range(100)]
    given_ = topic(["b0"] * 100, [9_000.0], groups=keys, topic={"batch": batch})
    given_ = replace(given_, brokers=(replace(given_.brokers[0], allocated_rate_per_s=others),))
    senders = senders_of(given_, np.arange(100))
    batches: dict[int, float] = {}
    for size, rate in zip(senders.batches.tolist(), senders.batches_per_s.tolist(), strict=True):
        batches[size] = batches.get(size, 0.0) + rate
    queue = processing(max_rate_per_s=speed, others_per_s=others, batches_per_s=batches)
    known = replace(given_, measured={0: measured(queue.quantile_s(0.99))})
    assert fitted(known).brokers[0].speed_per_s == pytest.approx(speed, rel=1e-6)


def test_a_speed_is_fitted_to_the_rate_that_was_measured() -> None:
    """Publishers that send half of what they were said to send leave a broker half as busy."""
    given_ = topic(["b0"] * 100, [9_000.0])
    queue = processing(max_rate_per_s=1_500.0, others_per_s=0.0, batches_per_s={BATCH: 50.0})
    half = measured(queue.quantile_s(0.99), messages=30_000)
    fit = fitted(replace(given_, measured={0: half}))
    assert fit.brokers[0].speed_per_s == pytest.approx(1_500.0, rel=1e-6)


def test_brokers_that_were_not_measured_get_the_mean_of_those_that_were() -> None:
    at: list[str | None] = ["b0"] * 50 + ["b1"] * 50
    given_ = topic(at, [8_000.0, 4_000.0, 6_000.0, 2_000.0])
    brokers = list(given_.brokers)
    brokers[3] = replace(brokers[3], speed_per_s=2_000.0)
    given_ = replace(given_, brokers=tuple(brokers))
    queue = processing(max_rate_per_s=4_000.0, others_per_s=0.0, batches_per_s={BATCH: 50.0})
    both = {0: measured(queue.quantile_s(0.99), messages=30_000)}
    fit = fitted(replace(given_, measured=both))
    # b0 takes half of its publish rate, b3 all of it: the others are between them.
    assert [broker.processes_per_s for broker in fit.brokers] == pytest.approx(
        [4_000.0, 4_000.0 * math.sqrt(0.5), 6_000.0 * math.sqrt(0.5), 2_000.0], rel=1e-6
    )
    # None is given more than it was said to take.
    assert all(each.room_per_s <= each.max_rate_per_s for each in fit.brokers)


def test_too_little_says_nothing_of_a_speed() -> None:
    given_ = topic(["b0"] * 100, [9_000.0])
    open_ = MeasuredDelays(
        messages=50,
        seconds=1.0,
        delay=Percentile(value_s=0.01, low_s=0.9e-3, high_s=None),
        processing=Percentile(value_s=0.01, low_s=0.9e-3, high_s=None),
    )
    known = replace(given_, measured={0: open_})
    assert not fits(known, 0)
    assert fitted(known) is known


@pytest.mark.parametrize(("own_s", "is_fitted"), [(2.0, True), (0.9, False)])
def test_what_drifts_beyond_the_objective_is_fitted(own_s: float, is_fitted: bool) -> None:
    """What a broker takes that cannot follow grows as long as it is measured, so it has no bound;
    where the wait for tokens grows nothing is known of the speed."""
    drifting = MeasuredDelays(
        messages=30_000,
        seconds=60.0,
        delay=Percentile(value_s=2.0, low_s=1.0, high_s=None),
        processing=Percentile(value_s=own_s, low_s=0.5, high_s=None),
    )
    known = replace(topic(["b0"] * 100, [9_000.0] * 3), measured={0: drifting})
    assert fits(known, 0) is is_fitted
    # It took 500 messages a second, and is given fewer.
    explained = answer(known)
    assert explained["measured"]["brokers"][0]["verdict"] == "missed"
    first = explained["shares"][0]
    if is_fitted:
        assert first["speed_per_s"] == pytest.approx(500.0, rel=0.05)
    assert all(share["rate_per_s"] < 1_000.0 for share in explained["shares"])


@pytest.mark.parametrize("own_s", [0.0, 1e-9])
def test_processing_too_short_to_be_measured_is_that_of_a_very_fast_broker(own_s: float) -> None:
    known = replace(topic(["b0"] * 100, [9_000.0]), measured={0: measured(own_s)})
    assert fitted(known).brokers[0].speed_per_s == 900_000.0
    assert fitted(known).brokers[0].room_per_s == 9_000.0


@pytest.mark.parametrize("overload", [1.05, 1.6, 3.0])
@pytest.mark.parametrize("batch", [1, 10])
@pytest.mark.parametrize("others", [0.0, 8_000.0])
def test_a_broker_that_cannot_follow_is_as_fast_as_what_it_lets_through(
    overload: float, batch: int, others: float
) -> None:
    given_ = topic(["b0"] * 1_000, [40_000.0], topic={"batch": batch, "bucket": 1e6})
    given_ = replace(given_, brokers=(replace(given_.brokers[0], allocated_rate_per_s=others),))
    speed = (10_000.0 + others) / overload
    brokers = SimulatedBrokers(true_per_s=[speed], seconds=60.0, most_seconds=60.0, seed=3)
    known = replace(given_, measured={0: brokers.measure(given_, 0)})
    assert fitted(known).brokers[0].speed_per_s == pytest.approx(speed, rel=0.02)


def test_a_topic_is_not_turned_away_because_of_a_speed_that_nobody_measured() -> None:
    given_ = topic(["b0"] * 60 + [None] * 40, [900.0, 900.0])
    brokers = SimulatedBrokers(true_per_s=[350.0, 800.0], seconds=60.0, most_seconds=60.0, seed=3)
    fit = fitted(replace(given_, measured={0: brokers.measure(given_, 0)}))
    # As slow as the first one the other would leave room for 700 of the 1,000 a second.
    assert fit.brokers[0].processes_per_s == pytest.approx(350.0, rel=0.05)
    assert fit.brokers[1].processes_per_s == 900.0


def test_a_broker_that_cannot_follow_is_hardly_faster_than_what_is_sent() -> None:
    known = replace(topic(["b0"] * 100, [9_000.0]), measured={0: measured(1e3)})
    assert fitted(known).brokers[0].speed_per_s == pytest.approx(1_000.0, rel=2e-3)


@pytest.mark.parametrize("arrivals", ["poisson", "periodic"])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_simulated_broker_shows_is_its_true_speed(arrivals: str, seed: int) -> None:
    """With the fitted speed the model is within the interval that was measured, and what the true
    speed says of Poisson publishers is, too."""
    keys: list[str | None] = [f"g{at // 5}" for at in range(PUBLISHERS)]
    given_ = topic(["b0"] * PUBLISHERS, [140_000.0], groups=keys, topic={"bucket": 1e9})
    brokers = SimulatedBrokers(
        true_per_s=[TRUE],
        seconds=60.0,
        most_seconds=60.0,
        seed=seed,
        arrivals=arrivals,  # type: ignore[arg-type]
    )
    seen = brokers.measure(given_, 0)
    fit = fitted(replace(given_, measured={0: seen}))
    by_fit = SLO * ratio_at(fit, 0, np.arange(PUBLISHERS))
    assert seen.processing.high_s is not None
    assert seen.processing.low_s * 0.99 <= by_fit <= seen.processing.high_s * 1.01
    if arrivals == "poisson":
        true = processing(max_rate_per_s=TRUE, others_per_s=0.0, batches_per_s={50: 200.0})
        assert seen.processing.low_s * 0.98 <= true.quantile_s(0.99)
        assert true.quantile_s(0.99) <= seen.processing.high_s * 1.02
        assert fit.brokers[0].speed_per_s == pytest.approx(TRUE, rel=0.05)


def test_verdicts_say_what_the_intervals_do() -> None:
    at: list[str | None] = ["b0"] * 20 + ["b1"] * 20 + ["b2"] * 20
    given_ = topic(at, [9_000.0] * 4, more={"measured_of": "L-3"})
    known = replace(
        given_,
        measured={
            0: measured(0.9e-3, width=0.05),
            1: measured(0.4e-3, delay_s=2e-3, messages=12_000),
            2: measured(0.98e-3),
            3: measured(5e-3),
        },
    )
    explained = verdicts(known)
    # 200 messages a second, as its publishers send; with all tokens used up it is their rate.
    assert [row["expected_rate_per_s"] for row in explained["brokers"]] == [200.0] * 3
    most = given_.contract.token_rate_per_s / 3
    full = measured(0.4e-3, delay_s=2e-3, messages=round(60 * most))
    (row,) = verdicts(replace(known, measured={1: full}))["brokers"]
    assert row["cause"] == "rate"
    assert (explained["of"], explained["meets"]) == ("L-3", False)
    # Nobody is at b3 any more.
    assert [(row["broker"], row["verdict"], row["cause"]) for row in explained["brokers"]] == [
        ("b0", "kept", None),
        ("b1", "missed", "tokens"),
        ("b2", "inconclusive", None),
    ]
    assert {row["speed_per_s"] for row in explained["brokers"]} == {None}
    (predicted_s,) = {row["predicted_p99_s"] for row in explained["brokers"]}
    assert predicted_s == pytest.approx(SLO * ratio_at(given_, 0, np.arange(20)))
    free = replace(known, contract=replace(known.contract, slo_p99_s=None))
    assert verdicts(free)["meets"] is None
    assert {row["verdict"] for row in verdicts(free)["brokers"]} == {None}


MEAN_SLO = 4e-4


def with_mean(
    delays: MeasuredDelays, mean_s: float, *, width: float = 0.1, bounded: bool = True
) -> MeasuredDelays:
    return replace(
        delays,
        mean_s=mean_s,
        mean_low_s=mean_s * (1 - width),
        mean_high_s=mean_s * (1 + width) if bounded else None,
    )


@pytest.mark.parametrize(
    ("delays", "verdict"),
    [
        (with_mean(measured(0.5e-3), 3e-4), "kept"),
        (with_mean(measured(0.5e-3), 5e-4), "missed"),
        (with_mean(measured(0.5e-3), 3.8e-4), "inconclusive"),
        (with_mean(measured(0.5e-3), 3e-4, bounded=False), "inconclusive"),
        (with_mean(measured(0.98e-3), 3e-4), "inconclusive"),
        (with_mean(measured(2e-3), 3e-4), "missed"),
        (measured(0.5e-3), "inconclusive"),
    ],
)
def test_an_objective_is_kept_only_where_all_are(delays: MeasuredDelays, verdict: str) -> None:
    given_ = topic(["b0"] * 20, [9_000.0], topic={"slo_mean_s": MEAN_SLO})
    explained = verdicts(replace(given_, measured={0: delays}))
    (row,) = explained["brokers"]
    assert row["verdict"] == verdict
    assert explained["meets"] is {"kept": True, "missed": False, "inconclusive": None}[verdict]
    assert [row[name] for name in ("mean_s", "mean_low_s", "mean_high_s")] == [
        *(delays.mean_s, delays.mean_low_s, delays.mean_high_s)
    ]
    predicted_s = MEAN_SLO * ratio_at(
        replace(given_, contract=replace(given_.contract, slo_p99_s=None)), 0, np.arange(20)
    )
    assert row["predicted_mean_s"] == pytest.approx(predicted_s)


def test_a_missed_mean_alone_takes_publishers_away() -> None:
    """The percentile is kept, and the mean is not, whatever the model says of it."""
    at: list[str | None] = ["b0"] * 60
    given_ = topic(at, [2_000.0] * 3, topic={"slo_p99_s": 1.0, "slo_mean_s": MEAN_SLO})
    without = replace(given_, contract=replace(given_.contract, slo_mean_s=None))
    queue = processing(max_rate_per_s=1_000.0, others_per_s=0.0, batches_per_s={BATCH: 60.0})
    seen = measured(queue.quantile_s(0.99), messages=36_000)
    missed = with_mean(seen, 2.0 * MEAN_SLO)
    kept = explained_of(replace(without, measured={0: missed}), "srtm", {}, seed=0)
    assert kept["moved"] == 0
    again = explained_of(replace(given_, measured={0: missed}), "srtm", {}, seed=0)
    assert again["measured"]["meets"] is False
    assert again["moved"] > 0


@pytest.mark.parametrize(
    ("mean_s", "bounded", "stays"),
    [(13.3e-3, True, True), (14.2e-3, True, False), (13.3e-3, False, False)],
)
def test_a_broker_stays_as_it_is_where_the_mean_was_measured_to_be_kept(
    mean_s: float, bounded: bool, stays: bool
) -> None:
    """By the model it is 13 ms, more than 0.9 of the objective."""
    given_ = topic(["b0"] * 60, [2_000.0] * 3, topic={"slo_p99_s": 1.0, "slo_mean_s": 13.5e-3})
    queue = processing(max_rate_per_s=1_000.0, others_per_s=0.0, batches_per_s={BATCH: 60.0})
    seen = measured(queue.quantile_s(0.99), messages=36_000)
    known = replace(given_, measured={0: with_mean(seen, mean_s, bounded=bounded)})
    assert ratio_at(fitted(known), 0, np.arange(60)) == pytest.approx(13.0 / 13.5, rel=0.02)
    assert (explained_of(known, "srtm", {}, seed=0)["moved"] == 0) is stays


def test_a_search_goes_by_the_objective_that_is_nearer_to_be_missed() -> None:
    percentile = topic([None] * 200, [2_500.0] * 6, topic={"slo_p99_s": 12e-3})
    both = replace(percentile, contract=replace(percentile.contract, slo_mean_s=1.0))
    assert search_rounds(both) == search_rounds(percentile) > 1
    mean = replace(percentile, contract=replace(both.contract, slo_p99_s=1.0, slo_mean_s=6e-3))
    alone = replace(mean, contract=replace(mean.contract, slo_p99_s=None))
    assert search_rounds(mean) == search_rounds(alone) > 1


def test_rounds_go_on_until_the_mean_is_kept() -> None:
    """Brokers take a third less than they say: the first round misses the mean alone."""
    given_ = topic([None] * 60, [1_000.0] * 4, topic={"slo_p99_s": None, "slo_mean_s": 12e-3})
    brokers = SimulatedBrokers(true_per_s=[650.0] * 4, seconds=120.0, most_seconds=480.0, seed=2)
    seen = profile(given_, brokers.measure)
    means = [[each.mean_s or 0.0 for each in one.problem.measured.values()] for one in seen.rounds]
    assert seen.kept
    assert max(means[0]) > 12e-3 >= max(means[-1])
    for each in seen.rounds[-1].problem.measured.values():
        assert each.mean_low_s is not None
        assert each.mean_s is not None
        assert each.mean_low_s < each.mean_s


@pytest.mark.parametrize(("widths", "meets"), [((0.01, 0.01), True), ((0.01, None), None)])
def test_all_brokers_must_be_measured_to_keep_it(
    widths: tuple[float | None, ...], meets: bool | None
) -> None:
    known = replace(
        topic(["b0"] * 20 + ["b1"] * 20, [9_000.0] * 2),
        measured={
            at: measured(0.5e-3, width=width)
            for at, width in enumerate(widths)
            if width is not None
        },
    )
    assert verdicts(known)["meets"] is meets


def answer(given_: PlacementProblem) -> dict[str, Any]:
    return explained_of(given_, "srtm", {}, seed=0)


def test_without_measurements_the_answer_says_so_and_is_as_it_was() -> None:
    given_ = topic(["b0"] * 40 + [None] * 40, [9_000.0] * 3)
    explained = answer(given_)
    assert explained["measured"] is None
    assert {row["speed_per_s"] for row in explained["shares"]} == {9_000.0}


def test_a_broker_that_missed_gives_up_publishers_and_the_answer_says_why() -> None:
    """Much slower than its publish rate says: the next placement is made by that."""
    given_ = topic(["b0"] * 1_200, [200_000.0] * 4, topic={"bucket": 50_000})
    brokers = SimulatedBrokers(true_per_s=[25_000.0] * 4, seconds=60.0, most_seconds=480.0, seed=1)
    seen = brokers.measure(given_, 0)
    explained = answer(replace(given_, measured={0: seen}, measured_of="L-3"))
    (row,) = explained["measured"]["brokers"]
    assert (row["verdict"], row["cause"], row["fitted"]) == ("missed", "processing", True)
    assert row["speed_before_per_s"] == 200_000.0
    assert row["speed_per_s"] == pytest.approx(25_000.0, rel=0.05)
    assert explained["measured"]["search_rounds"] > 1
    speeds = [share["speed_per_s"] for share in explained["shares"]]
    assert speeds == pytest.approx([row["speed_per_s"]] * 4)
    used = [share for share in explained["shares"] if share["publishers"]]
    assert len(used) > 1
    assert max(share["p99_s"] for share in used) <= WITHIN * SLO
    assert explained["meets"] is True


def test_who_was_measured_to_keep_it_stays_whatever_the_model_says() -> None:
    given_ = topic(["b0"] * 100, [9_000.0] * 3)
    close = measured(0.99e-3, width=0.005)
    explained = answer(replace(given_, measured={0: close}))
    assert explained["measured"]["meets"] is True
    assert explained["moved"] == 0
    # Predicted as measured, which is more than a placement is made for.
    assert explained["p99_s"] > WITHIN * SLO


def test_who_missed_for_want_of_tokens_does_not_get_as_much_again() -> None:
    """The model, which knows of no reason, would leave everybody where it is."""
    given_ = topic(["b0"] * 100, [9_000.0] * 3)
    explained = answer(replace(given_, measured={0: measured(0.1e-3, delay_s=3e-3)}))
    assert explained["measured"]["brokers"][0]["cause"] == "tokens"
    assert explained["moved"] > 0


def test_brokers_of_unequal_speed_get_unequal_parts() -> None:
    """Evened-out parts are too much for the slow one, and the fast one is too slow for all."""
    at: list[str | None] = ["b0"] * 900 + ["b1"] * 900
    given_ = topic(at, [90_000.0] * 2, topic={"bucket": 50_000})
    shown = {
        index: SimulatedBrokers(
            true_per_s=[35_000.0, 25_000.0], seconds=60.0, most_seconds=480.0, seed=1
        ).measure(given_, index)
        for index in (0, 1)
    }
    explained = answer(replace(given_, measured=shown))
    fast, slow = explained["shares"]
    assert explained["meets"] is True
    assert fast["publishers"] > 1.3 * slow["publishers"] > 0
    assert max(fast["p99_s"], slow["p99_s"]) <= WITHIN * SLO


def test_what_if_keeps_the_speeds_that_were_measured() -> None:
    given_ = topic(["b0"] * 100, [9_000.0] * 2)
    known = replace(given_, measured={0: measured(5e-3)})
    assert changed(known, WhatIf()) is known
    other = changed(known, WhatIf(batch=20, added_brokers=1))
    assert not other.measured
    before = [broker.speed_per_s for broker in fitted(known).brokers]
    after = [broker.speed_per_s for broker in fitted(other).brokers]
    assert after[:2] == before
    assert after[2] == pytest.approx(before[1])


def test_once_it_is_enough_the_search_ends() -> None:
    given_ = table_1(30, wrong=1.0)
    asked = 0

    def go_on() -> bool:
        nonlocal asked
        asked += 1
        return asked < 5

    assert search_rounds(given_) > 10
    assert 1 <= search_rounds(given_, go_on=go_on) <= 6


@settings(deadline=None, max_examples=25)
@given(
    count=st.integers(3, 40),
    room=st.lists(st.sampled_from([60.0, 150.0, 500.0]), min_size=1, max_size=4),
    seed=st.integers(0, 10_000),
    unequal=st.booleans(),
)
def test_the_rounds_end_whatever_is_measured(
    count: int, room: list[float], seed: int, unequal: bool
) -> None:
    rng = np.random.default_rng(seed)
    rates = [10.0 + 5.0 * (at % 3) * unequal for at in range(count)]
    given_ = problem(rates, room, topic={"slo_p99_s": SLO, "bucket": 200})
    loads = given_.loads()
    missed: dict[int, float] = {}

    def measure(in_force: PlacementProblem, at: int) -> MeasuredDelays:
        load = float(loads[in_force.publishers.today == at].sum())
        # Who missed with this much never gets as much again.
        assert load < missed.get(at, math.inf)
        late = float(rng.choice([0.1, 0.5, 3.0, 50.0])) * SLO
        if late > SLO:
            missed[at] = load
        return measured(float(rng.uniform(0.0, late)), delay_s=late, messages=int(60 * load) + 1)

    seen = profile(given_, measure, most_rounds=10_000)
    # A broker is halved at most so often before it can serve nobody.
    assert len(seen.rounds) <= len(room) * (3 + math.log2(sum(rates) / 10.0)) * 3
    if seen.kept:
        last = seen.rounds[-1].problem
        assert (last.publishers.today != NOWHERE).all()
        assert all(each.delay.value_s <= SLO for each in last.measured.values())


def test_an_objective_that_no_broker_keeps_ends_without_a_placement() -> None:
    given_ = topic([None] * 30, [9_000.0] * 3)
    seen = profile(given_, lambda in_force, at: measured(1.0))
    assert not seen.kept
    assert 1 <= len(seen.rounds) < 60


def test_without_an_objective_there_is_nothing_to_keep() -> None:
    given_ = topic([None] * 30, [9_000.0], topic={"slo_p99_s": None})
    with pytest.raises(ValueError, match="without an objective"):
        profile(given_, lambda in_force, at: measured(1.0))


def profiled(wrong: float, *, seed: int, most_seconds: float) -> list[Profile]:
    """Return the rounds of the six topics."""
    out = []
    for group in SEARCHED_BY_THE_PAPER:
        given_ = table_1(group, wrong=wrong)
        brokers = SimulatedBrokers(
            true_per_s=[TRUE] * len(given_.brokers),
            seconds=60.0,
            most_seconds=most_seconds,
            seed=seed,
        )
        out.append(profile(given_, brokers.measure))
    return out


@pytest.mark.parametrize("wrong", [1.25, 0.75])
def test_table_1_takes_at_most_12_rounds_where_rates_are_wrong_by_a_quarter(wrong: float) -> None:
    """The six topics of section 6.5, for which the paper's search took 56 rounds; on average, with
    seeds on which nothing was chosen."""
    totals = []
    for seed in (21, 22):
        seen = profiled(wrong, seed=seed, most_seconds=480.0)
        assert all(each.kept for each in seen)
        totals.append(sum(len(each.rounds) for each in seen))
    assert sum(totals) / len(totals) <= 12, totals


def test_no_round_is_longer_than_it_may_be() -> None:
    given_ = table_1(10, wrong=1.25)
    brokers = SimulatedBrokers(
        true_per_s=[TRUE] * len(given_.brokers), seconds=60.0, most_seconds=60.0, seed=1
    )
    seen = profile(given_, brokers.measure)
    assert seen.kept
    assert seen.seconds == 60.0 * len(seen.rounds)


def test_the_search_by_halves_takes_about_as_many_rounds_as_in_the_paper() -> None:
    """By the model of those brokers: noise of a minute is not in it."""
    total = sum(search_rounds(table_1(group, wrong=1.0)) for group in SEARCHED_BY_THE_PAPER)
    assert 0.75 * 56 < total < 1.25 * 56


def test_brokers_search_at_the_same_time() -> None:
    given_ = topic([None] * 100, [550.0] * 4)
    tries: list[int] = []

    def ratio(at: int, here: np.ndarray) -> float:
        tries.append(at)
        return len(here) / 30.0

    searched = searched_by_halves(by_rates_alone(given_), ratio)
    assert searched.placement.complete
    # 50 at each of two: missed, and 25 of them are within 20 % below. The 50 that are left go to
    # the third, which keeps 25, and the last 25 to the fourth.
    assert tries == [0, 0, 1, 1, 2, 2, 3]
    assert searched.rounds == 2 + 2 + 1
