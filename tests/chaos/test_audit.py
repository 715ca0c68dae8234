"""The audit sees what it is there to see."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.audit import Verdict, excess, is_tree, judge


def test_a_clean_run_is_clean():
    assert judge(5, 6, [1, 2, 3, 4, 5]) == Verdict(delivered=5)
    assert judge(5, 6, [1, 2, 3, 4, 5, 6]).clean


@pytest.mark.parametrize(
    ("got", "fault"),
    [
        ([1, 2, 4, 5], {"lost": 1}),
        ([1, 2, 3, 3, 4, 5], {"duplicated": 1}),
        ([1, 3, 2, 4, 5], {"reordered": 1}),
        ([1, 2, 3, 4, 5, 9], {"phantom": 1}),
        ([], {"lost": 5}),
    ],
)
def test_sees_each_kind_of_fault(got, fault):
    verdict = judge(5, 6, got)
    assert not verdict.clean
    for name, count in fault.items():
        assert getattr(verdict, name) == count


def test_sees_a_circle_and_a_gap():
    assert is_tree("abc", [("a", "b"), ("b", "c")])
    assert not is_tree("abc", [("a", "b")])
    assert not is_tree("abcd", [("a", "b"), ("b", "c"), ("c", "a")])


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
