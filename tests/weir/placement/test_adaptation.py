"""Parts follow the traffic: nothing is lost or made, nobody starves, and the new traffic counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.placement.adaptation import (
    LEAST_FLOOR,
    NEVER_CLOSED,
    Cause,
    Interval,
    Params,
    adapted,
)
from weir.placement.handover import Part

NAMES = "abcdefgh"

amounts = st.one_of(st.just(0.0), st.floats(0.0, 1e5))
parts_of_any_size = st.builds(
    Part, rate_per_s=st.one_of(st.just(0.0), st.floats(1e-3, 1e5)), size=amounts
)
intervals = st.builds(
    Interval,
    seconds=st.floats(0.2, 3.0),
    arrived=amounts,
    waiting=amounts,
    work_peak=amounts,
)
histories = st.dictionaries(st.sampled_from(NAMES), st.lists(intervals, max_size=12))


def of(seconds: int, per_s: float, *, waiting: float = 0.0, work: float = 1.0) -> list[Interval]:
    """Return so many intervals of a second."""
    return [
        Interval(seconds=1.0, arrived=per_s, waiting=waiting, work_peak=work)
        for _ in range(seconds)
    ]


def split(rate: float, size: float, *shares: float) -> dict[str, Part]:
    return {
        name: Part(rate_per_s=rate * share, size=size * share)
        for name, share in zip(NAMES, shares, strict=False)
    }


@given(
    st.dictionaries(st.sampled_from(NAMES), parts_of_any_size, max_size=8),
    histories,
    st.sampled_from([0.0, 0.001, 0.02, 0.2]),
)
@settings(deadline=None, max_examples=300)
def test_rate_and_size_are_kept_whatever_was_measured(
    parts: dict[str, Part], history: dict[str, list[Interval]], least_share: float
) -> None:
    answer = adapted(parts, history, params=Params(least_share=least_share))
    for member in ("rate_per_s", "size"):
        before = math.fsum(getattr(part, member) for part in parts.values())
        after = math.fsum(getattr(part, member) for part in answer.parts.values())
        assert after == pytest.approx(before, rel=1e-9, abs=0)
        assert all(getattr(part, member) >= 0 for part in answer.parts.values())
    assert answer.parts.keys() == parts.keys()
    follow = {name for name, part in parts.items() if history.get(name) and part.rate_per_s > 0}
    assert all(answer.parts[name] == parts[name] for name in parts.keys() - follow)
    if answer.cause is Cause.STEADY:
        assert answer.parts == parts
    elif answer.cause is Cause.SHIFT:
        rate, size = (
            math.fsum(getattr(parts[name], member) for name in follow)
            for member in ("rate_per_s", "size")
        )
        least = min(max(least_share, NEVER_CLOSED), 1 / len(follow)) * (1 - 1e-9)
        assert all(answer.parts[name].size >= least * size for name in follow)
        assert all(answer.parts[name].rate_per_s >= LEAST_FLOOR * least * rate for name in follow)
    turned = adapted(
        dict(reversed(parts.items())),
        dict(reversed(history.items())),
        params=Params(least_share=least_share),
    )
    assert turned == answer


def test_two_seconds_of_new_traffic_outweigh_eight_of_the_old() -> None:
    rng = np.random.default_rng(0)
    draw = [[*rng.poisson(a, 8), *rng.poisson(b, 2)] for a, b in ((700, 300), (300, 700))]
    history = {
        name: [row for count in counts for row in of(1, float(count))]
        for name, counts in zip("ab", draw, strict=True)
    }
    answer = adapted(split(1250, 100, 0.7, 0.3), history, params=Params())
    assert answer.cause is Cause.SHIFT
    assert answer.brokers == ("b",)
    assert answer.parts["b"].rate_per_s == pytest.approx(0.7 * 1250, rel=0.1)


def test_backlog_gets_tokens_that_others_do_not_use_and_no_more() -> None:
    parts = split(1000, 100, 0.5, 0.5)
    history = {"a": of(10, 400), "b": [*of(9, 400), *of(1, 400, waiting=5000, work=5050)]}
    answer = adapted(parts, history, params=Params())
    assert answer.cause is Cause.BACKLOG
    assert answer.brokers == ("b",)
    assert 400 < answer.parts["a"].rate_per_s < 420
    assert answer.parts["b"].rate_per_s > 580
    # With enough of them the backlog is gone in a second, and no more than that is moved.
    rich = adapted(split(10_000, 1000, 0.5, 0.5), history, params=Params())
    assert rich.cause is Cause.STEADY, "its own part drains it in two seconds"


def test_where_demand_exceeds_all_tokens_everybody_has_the_same_share_of_it() -> None:
    history = {
        "a": of(10, 900, waiting=9000, work=9000),
        "b": of(10, 300, waiting=1, work=50),
        "c": of(10, 60, waiting=100, work=100),
    }
    answer = adapted(split(1000, 30, 0.2, 0.4, 0.4), history, params=Params())
    shares = [answer.parts[name].rate_per_s / history[name][0].arrived for name in "abc"]
    assert shares == pytest.approx([1000 / 1260] * 3)


def test_idle_brokers_leave_a_busy_one_what_it_needs() -> None:
    history = {name: of(10, 950 if name == "a" else 0) for name in NAMES}
    answer = adapted(split(1000, 80, *[1 / 8] * 8), history, params=Params())
    assert answer.parts["a"].rate_per_s > 970
    assert all(answer.parts[name].rate_per_s >= 1 for name in NAMES)


def test_every_part_holds_a_whole_token_where_there_are_as_many() -> None:
    history = {"a": of(10, 980, work=40), "b": of(10, 5, work=0.4), "c": of(10, 15, work=0.4)}
    few = adapted(split(1200, 5, 0.98, 0.005, 0.015), history, params=Params())
    assert all(part.size >= 1 - 1e-9 for part in few.parts.values())
    none = adapted(split(1200, 2.5, 0.98, 0.005, 0.015), history, params=Params())
    assert all(part.size >= 0.02 * 2.5 * (1 - 1e-9) for part in none.parts.values())


def test_sizes_follow_bursts_and_rates_stay() -> None:
    history = {"a": of(10, 500, work=40), "b": of(10, 500, work=2)}
    parts = split(1000, 40, 0.5, 0.5)
    answer = adapted(parts, history, params=Params())
    assert answer.cause is Cause.STEADY, "this is what chance brings where nothing is left over"
    parts = split(1400, 20, 0.3, 0.7) | {"a": Part(rate_per_s=700, size=6)}
    parts["b"] = Part(rate_per_s=700, size=14)
    answer = adapted(parts, history, params=Params())
    assert answer.cause is Cause.BURSTS
    assert answer.parts["a"].size > 1.6 * 6
    assert [part.rate_per_s for part in answer.parts.values()] == [700, 700]


def test_parts_that_drained_a_backlog_are_known_not_to_fit_once_it_is_gone() -> None:
    """What comes is too little to prove it by counting."""
    parts = split(48.0, 24.0, 0.64, 0.18, 0.18)
    history = {name: of(5, 8.0) for name in "abc"}
    assert adapted(parts, history, params=Params()).cause is Cause.STEADY
    after = adapted(parts, history, params=Params(), drains=True)
    assert after.cause is Cause.SHIFT
    assert after.parts["a"].rate_per_s == pytest.approx(16.0)
    assert not after.drains


def test_a_broker_at_which_the_topic_is_closed_stays_closed() -> None:
    parts = split(1000, 100, 0.8, 0.2) | {"c": Part(rate_per_s=0.0, size=0.0)}
    history = {"a": of(10, 200), "b": of(10, 700), "c": of(10, 0)}
    answer = adapted(parts, history, params=Params())
    assert answer.cause is Cause.SHIFT
    assert answer.parts["c"] == parts["c"]
