"""Bins of delays, many at a time, and percentiles of histograms that others made.

The bins are those of `weir.queueing.wait_histogram`, in which agents count waits: histograms of
both merge by addition, and a percentile is too long by the factor `RATIO` at most, never too short.
(Of a delay within a rounding error of an edge, the two may see another side.)
What lasted at most `SHORTEST_S` is in the lowest bin. What is sent as a bucket of a histogram is in
the bin whose upper edge it names, however that was rounded (`bins_of_buckets`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.queueing.wait_histogram import LOWEST, ROUNDING, SHORTEST_S, STEPS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def bins_of(delays_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each delay, which must be 0 at least and finite."""
    long_enough = np.maximum(delays_s, SHORTEST_S)
    bins = np.ceil(np.log2(long_enough) * STEPS).astype(np.int64) - 1
    # Rounding puts what lies at an edge beside it: no delay is longer than its bin's longest.
    bins += long_enough > upper_edges_s(bins)
    bins -= long_enough <= upper_edges_s(bins - 1)
    lowest: NDArray[np.int64] = np.maximum(bins, LOWEST)
    return lowest


def bins_of_buckets(longest_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each bucket, given its upper edge or the longest delay that it holds."""
    return bins_of(longest_s * (1.0 - ROUNDING))


def upper_edges_s(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the longest delay of each bin."""
    return np.exp2((bins + 1) / STEPS)


def percentiles_s(
    first: NDArray[np.int64],
    bins: NDArray[np.int64],
    messages: NDArray[np.int64],
    longest_s: NDArray[np.float64],
    probability: float,
) -> NDArray[np.float64]:
    """Return a delay of each histogram that at most 1 - `probability` of its messages exceeded.

    Histogram i has the rows from `first[i]` on and before `first[i + 1]`: its bins, ascending, and
    how many messages each holds. `longest_s` is its longest delay.
    """
    # What came up to a row, over all histograms; whole numbers, so exact.
    upto = np.concatenate([[0], np.cumsum(messages)])
    before, after = upto[first], upto[np.append(first, len(bins))[1:]]
    # Rounded, so that 0.99 of 100 messages is not 99.00000000000001 of them.
    rank = np.ceil(np.round(probability * (after - before), 6)).astype(np.int64)
    at = np.searchsorted(upto, before + np.maximum(rank, 1)) - 1
    return np.minimum(upper_edges_s(bins[at]), longest_s)
