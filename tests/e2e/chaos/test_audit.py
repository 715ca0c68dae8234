"""The audit sees what it is there to see."""

import pytest

from tests.e2e.chaos.audit import Verdict, is_tree, judge


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
