"""Rounds of placing and measuring: what a broker cannot serve goes on, until all are served."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.placement.problems import problem
from weir.model.placement import NOWHERE
from weir.placement.rounds import placed_in_rounds, shedding_order

ROOM = [100.0] * 6


def groups(count: int, size: int) -> list[str | None]:
    return [f"g{at // size}" for at in range(count)]


def test_one_round_where_every_broker_serves_what_it_got() -> None:
    given_ = problem([1.0] * 40, ROOM)
    placement, rounds = placed_in_rounds(given_, lambda broker, here: len(here))
    assert len(rounds) == 1
    assert rounds[0].kept == {0: 40}
    assert placement.complete


def test_idle_brokers_are_filled_one_after_the_other_as_in_the_papers_table() -> None:
    # Each serves 17 of the 40 within the objective, whatever its rate says.
    given_ = problem([1.0] * 40, ROOM, groups=groups(40, 5))
    placement, rounds = placed_in_rounds(given_, lambda broker, here: min(len(here), 17))
    assert [sorted(each.kept) for each in rounds] == [[0], [1], [2]]
    assert [each.unassigned_rate_per_s for each in rounds] == [23.0, 6.0, 0.0]
    assert {at: share.publishers for at, share in placement.shares.items()} == {0: 17, 1: 17, 2: 6}
    assert placement.complete


def test_whoever_keeps_the_objective_is_not_measured_again() -> None:
    measured: list[tuple[int, int]] = []

    def can_serve(broker: int, here: np.ndarray) -> int:
        measured.append((broker, len(here)))
        return len(here) if broker else 10

    placed_in_rounds(problem([1.0] * 150, ROOM), can_serve)
    # The second broker has more than its even part already: what was shed goes to the third.
    assert measured == [(0, 75), (1, 75), (2, 65)]


def test_what_no_broker_can_serve_is_left_and_counted() -> None:
    placement, rounds = placed_in_rounds(problem([1.0] * 40, ROOM[:2]), lambda broker, here: 15)
    assert np.count_nonzero(placement.broker_of == NOWHERE) == 10
    assert not placement.complete
    assert placement.need_brokers == 1
    assert len(rounds) == 2


def test_groups_are_kept_in_proportion_and_pins_first() -> None:
    keys: list[str | None] = [*groups(20, 10), *["h"] * 10]
    given_ = problem([1.0] * 30, ROOM, groups=keys, more={"pins": {"p0029": "b0"}})
    kept = shedding_order(given_, np.arange(30))[:12]
    assert kept[0] == 29
    counts = np.bincount(given_.publishers.groups[kept])
    assert counts.max() - counts.min() <= 1


def test_a_pin_that_its_broker_cannot_serve_is_not_broken() -> None:
    given_ = problem([1.0] * 4, ROOM, more={"pins": {"p0001": "b1", "p0002": "b1"}})
    placement, _ = placed_in_rounds(given_, lambda broker, here: min(len(here), 2 - broker))
    assert placement.broker_of.tolist() == [0, 1, NOWHERE, 0]


@settings(deadline=None, max_examples=80)
@given(
    rates=st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=40),
    room=st.lists(st.sampled_from([10.0, 25.0, 60.0]), min_size=1, max_size=5),
    serves=st.lists(st.integers(0, 30), min_size=5, max_size=5),
)
def test_rounds_end_and_no_broker_has_more_than_it_serves_or_has_room_for(
    rates: list[float], room: list[float], serves: list[int]
) -> None:
    given_ = problem(rates, room)
    placement, rounds = placed_in_rounds(
        given_, lambda broker, here: min(len(here), serves[broker])
    )
    assert 1 <= len(rounds) <= 2 * len(room) + 1
    for at, share in placement.shares.items():
        assert share.publishers <= serves[at]
        assert share.messages_per_s <= room[at] * (1 + 2e-9)
    served = placement.broker_of != NOWHERE
    assert sum(share.messages_per_s for share in placement.shares.values()) == pytest.approx(
        float(given_.publishers.rates_per_s[served].sum())
    )
