"""What each number of brokers costs, which is taken, and who moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import plain, problem
from weir.codec.placement import placement_from_dict
from weir.errors import InvalidProblem
from weir.model.placement import NOWHERE, Objectives, PlacementProblem
from weir.placement._prediction import predicted
from weir.placement.explained import explained_of
from weir.placement.options import (
    best,
    broker_order,
    option,
    option_of_today,
    options,
    with_fewest_moves,
)
from weir.placement.simulated_brokers import senders_of
from weir.placement.what_if import WhatIf, changed
from weir.queueing.bucket_delay import smallest_free_size
from weir.queueing.poisson_work import PoissonWork
from weir.queueing.simulated_broker import SimulatedBroker, simulated

ROOMS = [80_000.0, 60_000.0, 60_000.0, 60_000.0]


def topic(
    *, today: int = 0, groups: list[str | None] | None = None, **contract: Any
) -> PlacementProblem:
    """Return 100 publishers of 1,000 msg/s each, at the first `today` brokers in turn."""
    previous = {f"p{at:04}": f"b{at % today}" for at in range(100)} if today else {}
    return problem(
        [1_000.0] * 100, ROOMS, groups=groups, topic=contract, more={"previous": previous}
    )


def solved(problem_: PlacementProblem, method: str = "srtm", **parameters: Any) -> dict[str, Any]:
    return explained_of(problem_, method, parameters, seed=0)


def places_of(problem_: PlacementProblem, answer: dict[str, Any]) -> Any:
    names = [broker.broker for broker in problem_.brokers]
    return np.array(
        [names.index(answer["assignments"][name]) for name in problem_.publishers.names]
    )


def test_few_brokers_wait_for_processing_and_many_for_tokens() -> None:
    fitting = [each for each in options(topic(bucket=48)) if each.fits]
    processing = [each.whole.processing_p99_s or 0.0 for each in fitting]
    penalty = [each.whole.penalty_s or 0.0 for each in fitting]
    assert [len(each.brokers) for each in fitting] == [2, 3, 4]
    assert processing == sorted(processing, reverse=True)
    assert penalty == sorted(penalty)


def test_the_wait_for_tokens_alone_is_that_of_the_part() -> None:
    answer = solved(topic(bucket=48))
    used = [share for share in answer["shares"] if share["publishers"]]
    placed = predicted(topic(bucket=48), places_of(topic(bucket=48), answer), method="srtm")
    waits = {topic().brokers[at].broker: share.p99_s for at, share in placed.shares.items()}
    assert {share["broker"]: share["wait_p99_s"] for share in used} == pytest.approx(waits)
    assert all(share["wait_p99_s"] < share["p99_s"] for share in used)
    assert all(share["wait_p99_s"] is None for share in answer["shares"] if share not in used)


def test_numbers_of_brokers_without_room_are_named_and_cost_nothing() -> None:
    first, *_ = options(topic())
    assert (len(first.brokers), first.fits, first.whole.p99_s) == (1, False, None)


def test_the_fewest_that_keep_the_objective_are_taken_else_the_shortest_wait() -> None:
    choices = options(topic(bucket=48))
    waits = {len(each.brokers): each.whole.p99_s for each in choices}
    middle = sorted(wait for wait in waits.values() if wait is not None)[1]
    for slo in (middle, 10.0, 1e-9):
        taken = best(choices, Objectives(p99_s=slo))
        keeping = [count for count, wait in waits.items() if wait is not None and wait <= slo]
        assert taken is not None
        if keeping:
            assert len(taken.brokers) == min(keeping)
        else:
            assert taken.whole.p99_s == min(wait for wait in waits.values() if wait is not None)
    plain_choice = best(choices, Objectives())
    assert plain_choice is not None
    assert len(plain_choice.brokers) == 2
    assert best(options(problem([9.0], [1.0])), Objectives(p99_s=1.0)) is None


@pytest.mark.parametrize("groups", [None, ["g"] * 20 + [None] * 80])
def test_the_mean_is_that_of_an_independent_simulation(groups: list[str | None] | None) -> None:
    """The model leaves out that a bucket smooths what reaches the broker: here it seldom holds."""
    given_ = topic(groups=groups, bucket=300.0, batch=2)
    each = next(each for each in options(given_) if each.fits)
    weights = []
    for at, delays in each.by_broker.items():
        here = np.flatnonzero(each.places == at)
        share = 1_000.0 * len(here) / 100_000.0
        seen = simulated(
            SimulatedBroker(
                speed_per_s=ROOMS[at],
                others_per_s=0.0,
                token_rate_per_s=110_000.0 * share,
                bucket=300.0 * share,
            ),
            senders_of(given_, here),
            seconds=60.0,
            seed=(4, at),
        )
        assert seen.mean.conclusive
        assert delays.mean_s is not None
        assert seen.mean.low * 0.97 <= delays.mean_s <= seen.mean.high * 1.03
        weights.append((delays.mean_s, len(here)))
    mean = sum(mean_s * publishers for mean_s, publishers in weights) / 100
    assert each.whole.mean_s == pytest.approx(mean)


def test_both_objectives_must_be_kept() -> None:
    base = topic(bucket=48)
    by_count = {len(each.brokers): each.whole for each in options(base) if each.fits}
    percentile, mean = by_count[2].p99_s, by_count[2].mean_s
    assert percentile is not None
    assert mean is not None

    def meets(**contract: float) -> bool | None:
        answer = solved(topic(bucket=48, **contract))
        assert answer["contract"]["slo_mean_s"] == contract.get("slo_mean_s")
        return next(row["meets"] for row in answer["curve"] if row["brokers"] == 2)

    assert meets() is None
    assert meets(slo_mean_s=1.01 * mean) is True
    assert meets(slo_mean_s=0.99 * mean) is False
    assert meets(slo_mean_s=1.01 * mean, slo_p99_s=0.99 * percentile) is False
    assert meets(slo_mean_s=0.99 * mean, slo_p99_s=1.01 * percentile) is False
    assert meets(slo_mean_s=1.01 * mean, slo_p99_s=1.01 * percentile) is True


def test_where_no_number_keeps_both_the_one_nearest_to_them_is_taken() -> None:
    fitting = [each for each in options(topic(bucket=48)) if each.fits]
    percentiles = {each.whole.p99_s or 0.0: each for each in fitting}
    means = {each.whole.mean_s or 0.0: each for each in fitting}
    least_p99, least_mean = percentiles[min(percentiles)], means[min(means)]
    assert least_p99 is not least_mean, "otherwise this shows nothing"
    tight, loose = 1e-9, 1.0
    assert best(fitting, Objectives(p99_s=tight, mean_s=loose)) is least_p99
    assert best(fitting, Objectives(p99_s=loose, mean_s=tight)) is least_mean
    assert best(fitting, Objectives(mean_s=tight)) is least_mean


def test_the_mean_of_the_whole_of_each_broker_and_of_today() -> None:
    answer = solved(topic(today=2, bucket=120, slo_mean_s=1.0))
    used = [share for share in answer["shares"] if share["publishers"]]
    whole = sum(share["mean_s"] * share["rate_per_s"] for share in used) / 100_000.0
    assert answer["mean_s"] == pytest.approx(whole)
    assert answer["today"]["mean_s"] == pytest.approx(whole), "all stay"
    assert all(share["mean_s"] is None for share in answer["shares"] if share not in used)
    chosen = next(row for row in answer["curve"] if row["chosen"])
    assert chosen["mean_s"] == answer["mean_s"] < answer["p99_s"]


def test_the_free_bucket_frees_every_broker_and_a_smaller_one_does_not() -> None:
    base = topic(groups=["g" if at < 10 else None for at in range(100)])
    for each in options(base):
        if not each.fits:
            continue
        assert each.free_bucket is not None

        def waits(bucket: float, each: Any = each) -> list[float]:
            contract = replace(base.contract, bucket=bucket)
            sized = option(replace(base, contract=contract), each.brokers, each.places)
            return [delays.penalty_s or 0.0 for delays in sized.by_broker.values()]

        # 99 % find a token; what the last 1 % wait still shows in the sum, a little.
        assert max(waits(each.free_bucket)) < 0.35 * max(waits(each.free_bucket / 2))


def test_the_free_bucket_of_equal_parts_is_b0_for_each() -> None:
    choices = options(problem([100.0] * 40, [3_000.0] * 4))
    b0 = smallest_free_size(PoissonWork(1 / 1.1), 0.99)
    for each in choices:
        if each.fits and 40 % len(each.brokers) == 0:
            assert each.free_bucket == pytest.approx(len(each.brokers) * b0)


def test_a_full_broker_waits_without_bound() -> None:
    full = problem([100.0] * 10, [500.0, 500.0])
    (*_, both) = options(full)
    assert both.fits
    assert both.whole.p99_s is None
    assert both.whole.meets(Objectives(p99_s=1.0)) is False
    assert both.whole.meets(Objectives(mean_s=1.0)) is False
    assert solved(problem([100.0] * 10, [500.0, 500.0], topic={"slo_p99_s": 1.0}))["meets"] is False


def test_who_has_as_much_sent_as_tokens_waits_without_bound() -> None:
    answer = solved(topic(token_rate=100_000.0, slo_p99_s=1.0))
    assert answer["p99_s"] is None
    assert answer["meets"] is False
    assert answer["status"] == "solved"


small = st.fixed_dictionaries(
    {
        "groups": st.lists(st.sampled_from([NOWHERE, 0, 1]), min_size=5, max_size=5),
        "rates": st.lists(st.sampled_from([1.0, 2.0]), min_size=5, max_size=5),
        "today": st.lists(st.sampled_from([NOWHERE, 0, 1, 2]), min_size=5, max_size=5),
        "places": st.lists(st.sampled_from([NOWHERE, 0, 1, 2]), min_size=5, max_size=5),
        "pinned": st.lists(st.booleans(), min_size=5, max_size=5),
    }
)


@given(small)
@settings(deadline=None, max_examples=60)
def test_as_many_stay_as_any_exchange_of_equal_publishers_leaves(case: dict[str, Any]) -> None:
    base = problem(case["rates"], [100.0] * 3)
    places = np.array(case["places"])
    pinned = np.where(np.array(case["pinned"]), places, NOWHERE)
    publishers = replace(
        base.publishers,
        groups=np.array(case["groups"]),
        today=np.array(case["today"]),
        pinned=pinned,
    )
    given_ = replace(base, publishers=publishers)
    moved = with_fewest_moves(given_, places)

    kinds = list(zip(case["groups"], case["rates"], strict=True))
    free = [at for at in range(5) if pinned[at] == NOWHERE and places[at] != NOWHERE]

    def stays(candidate: Any) -> int:
        return int(np.count_nonzero(np.array(candidate) == np.array(case["today"])))

    most = 0
    for order in permutations(free):
        if all(kinds[at] == kinds[to] for at, to in zip(free, order, strict=True)):
            swapped = places.copy()
            swapped[list(order)] = places[free]
            most = max(most, stays(np.where(swapped == NOWHERE, -2, swapped)))
    assert stays(np.where(moved == NOWHERE, -2, moved)) == most
    for kind in set(kinds):
        alike = [at for at in range(5) if kinds[at] == kind]
        assert sorted(moved[alike]) == sorted(places[alike])
    assert (moved[pinned != NOWHERE] == places[pinned != NOWHERE]).all()


def test_nobody_moves_while_today_keeps_the_objective() -> None:
    answer = solved(topic(today=2, slo_p99_s=10.0))
    assert answer["moved"] == 0
    assert answer["today"]["meets"] is True
    assert solved(topic(today=3))["moved"] == 0
    assert solved(topic(today=3, slo_p99_s=10.0), stay=False)["moved"] > 0


def test_one_that_has_no_broker_moves_nobody_else() -> None:
    base = topic(today=2, slo_p99_s=10.0)
    today = base.publishers.today.copy()
    today[7] = NOWHERE
    given_ = replace(base, publishers=replace(base.publishers, today=today))
    assert solved(given_)["moved"] == 1


def test_only_those_of_a_drained_broker_move() -> None:
    base = topic(today=3, slo_p99_s=10.0)
    drained = changed(base, WhatIf(drained=("b2",)))
    assert solved(drained)["moved"] == int(np.count_nonzero(base.publishers.today == 2))


def test_other_brokers_are_taken_where_as_many_of_today_miss_the_objective() -> None:
    base = plain([100.0] * 40, [2_100.0, 2_100.0, 9_000.0, 9_000.0], topic={"slo_p99_s": 0.02})
    base["previous"] = {f"p{at:04}": f"b{at % 2}" for at in range(40)}
    answer = solved(placement_from_dict(base))
    assert answer["today"]["meets"] is False
    assert answer["meets"] is True
    (taken,) = [row for row in answer["curve"] if row["chosen"]]
    assert set(taken["names"]) <= {"b2", "b3"}


@given(
    st.lists(st.sampled_from([5.0, 20.0, 60.0]), min_size=1, max_size=8),
    st.lists(st.sampled_from([50.0, 100.0, 200.0]), min_size=1, max_size=6),
    st.lists(st.integers(-1, 5), min_size=8, max_size=8),
    st.sampled_from([None, 1e-3, 0.2]),
)
@settings(deadline=None, max_examples=60)
def test_each_number_of_brokers_has_one_row_and_one_is_chosen(
    rates: list[float], room: list[float], today: list[int], slo: float | None
) -> None:
    base = plain(rates, room, topic={"slo_p99_s": slo})
    base["previous"] = {f"p{at:04}": f"b{today[at]}" for at in range(len(rates)) if today[at] >= 0}
    answer = solved(placement_from_dict(base))
    counts = [row["brokers"] for row in answer["curve"]]
    assert counts == sorted(set(counts))
    chosen = [row for row in answer["curve"] if row["chosen"]]
    assert len(chosen) == (answer["status"] == "solved")
    for row in chosen:
        used = {share["broker"] for share in answer["shares"] if share["publishers"]}
        assert set(row["names"]) == used
        assert row["brokers"] == len(used)
        assert row["p99_s"] == answer["p99_s"]


def test_a_third_broker_takes_a_third_of_two() -> None:
    today = solved(topic(today=2, bucket=120))["today"]
    answer = solved(topic(today=2, bucket=120, slo_p99_s=0.9 * today["p99_s"]))
    assert answer["moved"] == 33
    assert answer["meets"] is True
    assert [row["brokers"] for row in answer["curve"] if row["chosen"]] == [3]


def test_whoever_has_no_broker_yet_counts_as_moved() -> None:
    assert solved(topic())["moved"] == 100


def test_a_drained_broker_is_left_by_all_and_pinned_ones_stay() -> None:
    base = plain([1_000.0] * 100, ROOMS)
    base["previous"] = {f"p{at:04}": f"b{at % 2}" for at in range(100)}
    base["pins"] = {"p0000": "b3"}
    base["brokers"][1]["drained"] = True
    answer = solved(placement_from_dict(base))
    by_name = {row["broker"]: row for row in answer["shares"]}
    assert by_name["b1"]["publishers"] == 0
    assert by_name["b1"]["publishers_today"] == 50
    assert answer["assignments"]["p0000"] == "b3"
    assert broker_order(placement_from_dict(base), stay=True)[:2] == [3, 0]


def test_the_parts_add_up() -> None:
    groups = ["g" if at < 30 else "h" if at < 37 else None for at in range(100)]
    answer = solved(topic(groups=groups, bucket=48))
    shares = answer["shares"]
    assert sum(row["rate_per_s"] for row in shares) == pytest.approx(100_000)
    assert sum(row["token_rate_per_s"] or 0.0 for row in shares) == pytest.approx(110_000)
    assert sum(row["bucket"] or 0.0 for row in shares) == pytest.approx(48)
    assert sum(row["publishers"] for row in shares) == len(answer["assignments"]) == 100
    assert answer["largest_share_per_s"] == max(row["token_rate_per_s"] or 0.0 for row in shares)
    assert [(row["name"], row["publishers"]) for row in answer["groups"]] == [
        ("g", 30),
        ("h", 7),
        (None, 63),
    ]
    for row in answer["groups"]:
        assert sum(row["by_broker"].values()) == row["publishers"]
        assert row["within_one"]


def test_a_group_at_one_broker_is_not_within_one() -> None:
    base = plain([1.0] * 8, [10.0, 10.0], groups=["g"] * 4 + [None] * 4)
    base["pins"] = {f"p{at:04}": f"b{at // 4}" for at in range(8)}
    answer = solved(placement_from_dict(base))
    assert [row["within_one"] for row in answer["groups"]] == [False, False]


def test_what_has_no_room_is_named() -> None:
    answer = solved(problem([100.0] * 10, [450.0, 250.0]))
    assert answer["status"] == "infeasible"
    assert (len(answer["unassigned"]), answer["need_brokers"]) == (4, 1)
    assert not any(row["chosen"] for row in answer["curve"])
    assert answer["meets"] is None
    assert solved(problem([1.0], []))["status"] == "infeasible"


@pytest.mark.parametrize("method", ["concentrated", "load_balanced", "max_min"])
def test_other_methods_stand_for_their_number_of_brokers(method: str) -> None:
    answer = solved(topic(), method)
    (row,) = [row for row in answer["curve"] if row["chosen"]]
    assert row["p99_s"] == answer["p99_s"]
    assert row["brokers"] == sum(1 for share in answer["shares"] if share["publishers"])


def test_the_same_question_gives_the_same_answer() -> None:
    assert solved(topic(today=3)) == solved(topic(today=3))


def test_looking_ends_when_it_is_enough() -> None:
    seen: list[tuple[int, int]] = []

    def go_on(done: int, total: int) -> bool:
        seen.append((done, total))
        return done < 2

    answer = explained_of(topic(), "srtm", {}, seed=0, go_on=go_on)
    assert [row["brokers"] for row in answer["curve"]] == [1, 2]
    assert seen == [(0, 4), (1, 4), (2, 4)]
    assert answer["status"] == "solved"


def test_looking_does_not_end_before_one_has_fitted() -> None:
    answer = explained_of(topic(), "srtm", {}, seed=0, go_on=lambda done, total: False)
    assert [(row["brokers"], row["fits"]) for row in answer["curve"]] == [(1, False), (2, True)]
    assert answer["status"] == "solved"


def test_all_brokers_are_tried_where_fewer_hold_no_whole_publishers() -> None:
    """Each broker holds one publisher, with nearly half of its room left."""
    answer = solved(problem([55.0] * 30, [100.0] * 30))
    assert answer["status"] == "solved"
    assert [row["brokers"] for row in answer["curve"] if row["fits"]] == [30]


def test_nothing_changed_changes_nothing() -> None:
    base = topic(today=3, groups=["g"] * 50 + [None] * 50)
    assert solved(changed(base, WhatIf())) == solved(base)


def test_what_if_changes_what_it_says() -> None:
    base = topic(groups=["g"] * 50 + [None] * 50, slo_p99_s=0.01)
    more = changed(base, WhatIf(rate_per_s=120_000.0))
    assert more.loads().sum() == pytest.approx(120_000)
    assert more.contract.messages_per_s == 120_000
    less = changed(base, WhatIf(rate_per_s=50_000.0))
    assert less.loads().sum() == pytest.approx(50_000)
    other = changed(base, WhatIf(bucket=7.0, batch=3, token_rate_per_s=2e5, slo_p99_s=0.5)).contract
    assert (other.bucket, other.batch, other.token_rate_per_s, other.slo_p99_s) == (7, 3, 2e5, 0.5)
    sizes = np.unique(changed(base, WhatIf(group_size=20)).publishers.groups, return_counts=True)
    assert sizes[1].tolist() == [50, 20, 20, 10]
    alone = changed(base, WhatIf(group_size=1)).publishers
    assert (alone.groups == NOWHERE).all()
    assert alone.group_names == ()
    added = changed(base, WhatIf(added_brokers=2, drained=("b0",))).brokers
    assert [(each.broker, each.drained, each.room_per_s) for each in added] == [
        ("b0", True, 0.0),
        *((f"b{at}", False, 60_000.0) for at in (1, 2, 3)),
        ("new-1", False, 80_000.0),
        ("new-2", False, 80_000.0),
    ]
    assert (
        not changed(changed(base, WhatIf(drained=("b0",))), WhatIf(drained=())).brokers[0].drained
    )


def test_a_new_broker_does_not_take_the_name_of_another() -> None:
    base = plain([1.0], [10.0])
    base["brokers"][0]["id"] = "new-1"
    added = changed(placement_from_dict(base), WhatIf(added_brokers=1)).brokers
    assert [each.broker for each in added] == ["new-1", "new-2"]


def test_a_what_if_that_cannot_be_is_refused() -> None:
    base = plain([1.0], [10.0])
    base["pins"] = {"p0000": "b0"}
    for what_if in (WhatIf(drained=("b7",)), WhatIf(drained=("b0",)), WhatIf(group_size=0)):
        with pytest.raises(InvalidProblem):
            changed(placement_from_dict(base), what_if)


def test_today_is_none_before_anybody_has_a_broker() -> None:
    assert option_of_today(topic()) is None
    assert solved(topic())["today"] is None
