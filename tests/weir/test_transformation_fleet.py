"""How figure 6 tells messages inside of shifts from others, and what it calls lost or growing."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.transformation_fleet.load import RECORD
from benchmarks.transformation_fleet.measure import Shift, audit, growth, inside, shifts_of
from benchmarks.transformation_fleet.plans import reverse, roles, trees
from benchmarks.transformation_fleet.workload import workload
from weir.errors import InvalidProblem
from weir.model.transformation import Move
from weir.transformation import validation

LINE = frozenset({("1", "2"), ("2", "3"), ("3", "4"), ("1", "5")})
STEPS = (
    (Move(op="shift", broker="4", source="3", to="2"),),
    (Move(op="shift", broker="5", source="1", to="2"),),
)


def records(*rows: tuple[int, int, float, float]) -> np.ndarray:
    return np.array(list(rows), dtype=RECORD)


def test_only_messages_whose_way_and_time_meet_a_shift_are_inside() -> None:
    shift = Shift(brokers=frozenset({"2", "3", "4"}), began=10.0, ended=11.0, before=LINE)
    got = records((0, 1, 9.0, 9.9), (0, 2, 9.9, 10.1), (0, 3, 10.5, 10.6), (0, 4, 11.0, 11.1))
    assert inside(got, "4", [shift]).tolist() == [False, True, True, False]
    assert not inside(got, "5", [shift]).any(), "the way from 1 to 5 passes none of its brokers"


def test_the_audit_finds_what_is_missing_twice_and_late() -> None:
    before, after = {(0, "t0"): 4}, {(0, "t0"): 9, (1, "t0"): 2, (1, "t1"): 5}
    got = records(
        (0, 5, 0, 1), (0, 7, 0, 1), (0, 6, 0, 1), (0, 6, 0, 1), (1, 1, 0, 1), (1, 2, 0, 1)
    )
    assert audit(got, "t0", before, after) == (2, 1, 1)


def test_a_queue_grows_above_where_the_shift_found_it() -> None:
    samples = np.array([[0.0, 5, 0], [1.0, 2, 0], [2.0, 9, 1], [3.0, 0, 0]])
    shift = Shift(brokers=frozenset({"1", "2"}), began=1.5, ended=2.5, before=LINE)
    assert growth({"at": 0, "1": 1, "2": 2}, samples, [shift]) == [7.0, 1.0]


def test_plans_go_there_and_back_over_trees() -> None:
    there = trees(LINE, STEPS)
    assert there[1] == LINE - {("3", "4")} | {("2", "4")}
    assert trees(there[-1], reverse(STEPS))[-1] == LINE
    assert roles(STEPS) == [[("4", "3", "2")], [("5", "1", "2")]]
    times = [{"brokers": ["2", "3", "4"], "began": 1.0, "ended": 2.0}] * 2
    assert [shift.before for shift in shifts_of(STEPS, there, times)] == there[:2]


@pytest.mark.parametrize("ratio", [0.1, 0.4])
def test_the_workload_keeps_its_tree_over_all_goals(ratio: float) -> None:
    work = workload(brokers=14, subscribers=300, ratios=(0.1, 0.4), seed=1)
    goal = work.goals[ratio]
    assert goal.initial == frozenset(work.links)
    assert len(goal.missing) == round(ratio * 13)
    assert {s.broker for s in work.subscribers} <= set(work.brokers) - {"1"}
    with pytest.raises(InvalidProblem, match="without the goal's link"):
        validation.check(goal, ())
