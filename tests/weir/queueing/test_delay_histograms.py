"""Bins and percentiles of many delays at once, against those of one at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir.queueing.delay_histograms import (
    bins_of,
    bins_of_buckets,
    percentiles_s,
    upper_edges_s,
)
from weir.queueing.wait_histogram import (
    HIGHEST,
    LONGEST_S,
    LOWEST,
    RATIO,
    ROUNDING,
    SHORTEST_S,
    bin_of,
    upper_edge_s,
)

delays = st.one_of(
    st.floats(0.0, 1e6), st.floats(0.0, 1e-6), st.sampled_from([0.0, 1e-9, 1.0, 1e6])
)


@given(st.lists(delays, min_size=1))
def test_every_delay_lies_between_the_edges_of_its_bin(values: list[float]) -> None:
    array = np.array(values)
    bins = bins_of(array)
    assert (bins >= LOWEST).all()
    assert (array <= upper_edges_s(bins)).all()
    assert ((array > upper_edges_s(bins - 1)) | (bins == LOWEST)).all()


@given(st.lists(st.floats(SHORTEST_S, 1e6), min_size=1))
def test_bins_are_those_of_agents_but_for_rounding_at_edges(values: list[float]) -> None:
    for value, bin_ in zip(values, bins_of(np.array(values)).tolist(), strict=True):
        if bin_of(value) != bin_:
            assert abs(bin_of(value) - bin_) == 1
            edge_s = upper_edges_s(np.array([min(bin_of(value), bin_)]))[0]
            assert value == pytest.approx(edge_s, rel=1e-12)


def test_edges_belong_to_the_bin_below() -> None:
    bins = np.arange(LOWEST + 1, 300)
    assert (bins_of(upper_edges_s(bins)) == bins).all()
    assert (bins_of(np.nextafter(upper_edges_s(bins), np.inf)) == bins + 1).all()


def rounded_edges_s() -> dict[str, np.ndarray]:
    """The upper edges of all bins, as senders may write them."""
    bins = range(LOWEST, HIGHEST + 1)
    edges_s = np.minimum([upper_edge_s(bin_) for bin_ in bins], LONGEST_S)
    above, below = edges_s, edges_s
    for _ in range(3):
        above, below = np.nextafter(above, np.inf), np.nextafter(below, 0.0)
    return {
        "as agents have them": edges_s,
        "by powers of the ratio": np.minimum(RATIO ** (np.array(bins) + 1.0), LONGEST_S),
        "a little above": above,
        "a little below": below,
        "of 32 bits": edges_s.astype(np.float32).astype(np.float64),
        "of seven digits": np.array([float(f"{edge_s:.7g}") for edge_s in edges_s]),
    }


@pytest.mark.parametrize(("how", "edges_s"), rounded_edges_s().items())
def test_a_bucket_is_in_the_bin_whose_edge_it_names(how: str, edges_s: np.ndarray) -> None:
    assert bins_of_buckets(edges_s).tolist() == list(range(LOWEST, HIGHEST + 1))


@given(st.lists(delays, min_size=1))
def test_the_longest_delay_of_a_bucket_says_its_bin_too(values: list[float]) -> None:
    array = np.array(values)
    bins = bins_of_buckets(array)
    assert (array <= upper_edges_s(bins) * (1 + 2 * ROUNDING)).all()
    assert ((array > upper_edges_s(bins - 1)) | (bins == LOWEST)).all()


@given(
    st.lists(st.lists(delays, min_size=1, max_size=40), min_size=0, max_size=6),
    st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]),
)
def test_percentiles_are_exceeded_by_as_few_as_they_say(
    groups: list[list[float]], probability: float
) -> None:
    bins, messages, first, longest = [], [], [], []
    for group in groups:
        first.append(len(bins))
        values, counts = np.unique(bins_of(np.array(group)), return_counts=True)
        bins += values.tolist()
        messages += counts.tolist()
        longest.append(max(group))
    whole = np.array(messages, dtype=np.int64)
    percentiles = percentiles_s(
        np.array(first, dtype=np.int64),
        np.array(bins, dtype=np.int64),
        whole,
        np.array(longest),
        probability,
    )
    assert len(percentiles) == len(groups)
    for group, value in zip(groups, percentiles.tolist(), strict=True):
        ordered = sorted(group)
        exact = ordered[math.ceil(round(probability * len(group), 6)) - 1]
        assert exact <= value <= max(exact, SHORTEST_S) * RATIO * (1 + 1e-12)
