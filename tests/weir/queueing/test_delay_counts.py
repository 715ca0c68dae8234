"""Counts of delays by bin: complete, and taken once, however they are merged before."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from weir.queueing.delay_counts import DelayCounts
from weir.queueing.wait_histogram import HIGHEST, LOWEST, Piece, bin_of

waits = st.one_of(st.just(0.0), st.floats(0.0, 30.0), st.sampled_from([1e-12, 1e-9, 1e6, 3e6]))
pieces = st.lists(st.lists(waits, min_size=1, max_size=20), max_size=12)


def piece_of(waits_s: list[float]) -> Piece:
    """What leaves at the moment 0."""
    return Piece.of(0.0, sorted(-wait_s for wait_s in waits_s))


def expected(waits_s: list[float]) -> list[tuple[int, int]]:
    bins = Counter(
        min(max(bin_of(wait_s), LOWEST), HIGHEST) if wait_s else LOWEST for wait_s in waits_s
    )
    return sorted(bins.items())


@given(pieces, st.integers(0, 12))
def test_every_message_is_taken_once(left: list[list[float]], taken_after: int) -> None:
    counts = DelayCounts()
    for part in (left[:taken_after], left[taken_after:]):
        for each in part:
            counts.count(piece_of(each))
        of_part = [wait_s for each in part for wait_s in each]
        assert counts.longest_s == max(of_part, default=0.0)
        taken = counts.take()
        assert sum(messages for _, messages in taken) == len(of_part)
        assert all(LOWEST <= bin_ <= HIGHEST and messages > 0 for bin_, messages in taken)
        # Rounding may put what lies at an edge on either side of it.
        for low in range(-400, 200, 40):
            counted = sum(messages for bin_, messages in taken if bin_ < low)
            truth = [sum(n for bin_, n in expected(of_part) if bin_ < low + by) for by in (-1, 1)]
            assert truth[0] <= counted <= truth[1]
    assert counts.take() == []
    assert counts.longest_s == 0.0


@given(st.lists(pieces, max_size=4))
def test_merged_counts_are_those_of_one(parts: list[list[list[float]]]) -> None:
    one, whole = DelayCounts(), DelayCounts()
    for part in parts:
        apart = DelayCounts()
        for each in part:
            one.count(piece_of(each))
            apart.count(piece_of(each))
        whole.add(apart)
        assert apart.take() == []
    assert whole.longest_s == one.longest_s
    assert whole.take() == one.take()


def test_what_did_not_wait_and_what_waited_beyond_all_bins_is_counted_too() -> None:
    counts = DelayCounts()
    counts.count(piece_of([0.0, 0.0, 1e-12]))
    counts.count(piece_of([3e6]))
    assert counts.longest_s == 3e6
    assert counts.take() == [(LOWEST, 3), (HIGHEST, 1)]
