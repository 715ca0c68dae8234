"""The measure that tests of gates go by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.planes import excess


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=30).map(sorted),
    st.floats(0.1, 10),
    st.floats(1, 5),
)
def test_excess_is_that_of_the_worst_interval(times, rate, burst):
    worst = max(
        (j - i + 1) - (burst + rate * (times[j] - times[i]))
        for i in range(len(times))
        for j in range(i, len(times))
    )
    assert excess(times, rate, burst) == pytest.approx(worst, abs=1e-6)
