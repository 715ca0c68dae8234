"""Parts of a bucket change hands: in whatever order brokers follow, the whole is never exceeded."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.placement.handover import NOTHING, Change, Part, part_steps

BROKERS = "abcd"
SLACK = 1e-9


def split(whole: Part, weights: dict[str, float]) -> dict[str, Part]:
    total = sum(weights.values())
    return {
        broker: Part(rate_per_s=whole.rate_per_s * w / total, size=whole.size * w / total)
        for broker, w in weights.items()
    }


wholes = st.builds(Part, rate_per_s=st.floats(1.0, 1e5), size=st.floats(0.5, 1e3))
splits = st.dictionaries(st.sampled_from(BROKERS), st.floats(0.01, 1.0), max_size=4)


def carried_out(
    before: dict[str, Part], steps: list[dict[str, Change]]
) -> list[dict[str, Part | None]]:
    """Return every state in which the brokers may be: those of a step follow in any order."""
    state: dict[str, Part | None] = dict(before)
    states = [state]
    for step in steps:
        for followed in product([False, True], repeat=len(step)):
            changes = zip(step.items(), followed, strict=True)
            new = {broker: after for (broker, (_, after)), does in changes if does}
            states.append({**state, **new})
        for broker, (was, _) in step.items():
            assert state.get(broker) == was, "an action finds what it expects"
        state = {**state, **{broker: after for broker, (_, after) in step.items()}}
        states.append(state)
    return states


def undone(steps: list[dict[str, Change]]) -> list[dict[str, Change]]:
    return [
        {broker: (after, before) for broker, (before, after) in step.items()}
        for step in reversed(steps)
    ]


@given(wholes, splits, wholes, splits)
@settings(deadline=None)
def test_parts_never_add_up_to_more_than_the_larger_bucket(
    old: Part, had: dict[str, float], new: Part, wants: dict[str, float]
) -> None:
    before, after = split(old, had) if had else {}, split(new, wants) if wants else {}
    steps = part_steps(before, after)
    most_rate = max(old.rate_per_s * bool(had), new.rate_per_s * bool(wants))
    most_size = max(old.size * bool(had), new.size * bool(wants))
    for start, way in ((before, steps), (after, undone(steps))):
        states = carried_out(dict(start), way)
        for state in states:
            parts = [part for part in state.values() if part is not None]
            assert sum(part.rate_per_s for part in parts) <= most_rate * (1 + SLACK)
            assert sum(part.size for part in parts) <= most_size * (1 + SLACK)
        end = {broker: part for broker, part in states[-1].items() if part is not None}
        assert end == (after if start is before else before)


@given(wholes, splits.filter(bool), st.sampled_from(BROKERS))
@settings(deadline=None)
def test_where_the_topic_enters_unbounded_it_is_bounded_before_others_open(
    whole: Part, wants: dict[str, float], source: str
) -> None:
    after = split(whole, wants)
    steps = part_steps({}, after, source=source)
    assert steps[0] == {source: (None, after.get(source, NOTHING))}
    for state in carried_out({}, steps):
        if state.get(source) is None:
            assert not any(state.values()), "nobody else may send while the source is unbounded"
        else:
            total = sum(part.rate_per_s for part in state.values() if part is not None)
            assert total <= whole.rate_per_s * (1 + SLACK)


def test_a_part_that_is_only_counted_bounds_nothing() -> None:
    counted = {"a": Part(rate_per_s=5.0, size=2.0, count_only=True)}
    after = split(Part(rate_per_s=10.0, size=4.0), {"a": 1.0, "b": 1.0})
    first, second = part_steps(counted, after, source="a")
    assert first == {"a": (counted["a"], after["a"])}
    assert second == {"b": (None, after["b"])}


def test_counting_takes_one_step() -> None:
    after = {broker: Part(rate_per_s=5.0, size=2.0, count_only=True) for broker in "ab"}
    assert part_steps({}, after, source="a") == [{"a": (None, after["a"]), "b": (None, after["b"])}]
    assert part_steps(after, after, source="a") == []


@pytest.mark.parametrize("names", ["", "a", "ab"])
def test_nothing_changes_where_all_is_so_already(names: str) -> None:
    parts = {broker: Part(rate_per_s=1.0, size=1.0) for broker in names}
    assert part_steps(parts, parts, source=names[:1]) == []


def test_a_mixed_change_takes_both_steps() -> None:
    now, wanted = Part(rate_per_s=10.0, size=1.0), Part(rate_per_s=5.0, size=4.0)
    least = Part(rate_per_s=5.0, size=1.0)
    assert part_steps({"a": now}, {"a": wanted}) == [{"a": (now, least)}, {"a": (least, wanted)}]


def test_the_source_stays_closed_when_its_part_ends() -> None:
    whole = Part(rate_per_s=10.0, size=4.0)
    half = split(whole, {"a": 1.0, "b": 1.0})
    first, second = part_steps(half, {"b": whole}, source="a")
    assert first == {"a": (half["a"], NOTHING)}
    assert second == {"b": (half["b"], whole)}
    after = {"a": NOTHING, "b": whole}
    assert part_steps(after, {"b": whole}, source="a") == []
    assert part_steps({"b": whole}, {"b": whole}, source="a") == [], "others have parts: closed"
    assert part_steps(after, {"a": whole}, source="a") == [
        {"b": (whole, None)},
        {"a": (NOTHING, whole)},
    ]


@given(wholes, splits.filter(bool), splits.filter(bool), st.sampled_from(BROKERS))
@settings(deadline=None)
def test_planning_what_is_in_force_changes_nothing(
    whole: Part, had: dict[str, float], wants: dict[str, float], source: str
) -> None:
    state: dict[str, Part | None] = dict(split(whole, had))
    after = split(whole, wants)
    for step in part_steps(split(whole, had), after, source=source):
        state |= {broker: part for broker, (_, part) in step.items()}
    parts = {broker: part for broker, part in state.items() if part is not None}
    assert any(parts.values()), "without a part the source would be open"
    assert part_steps(parts, after, source=source) == []
