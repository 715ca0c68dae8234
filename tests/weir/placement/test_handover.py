"""Parts of a bucket and publishers change hands: in whatever order brokers follow, the whole is
never exceeded and nobody is let in at two brokers."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.placement.handover import (
    NOBODY,
    NOTHING,
    Change,
    HandoverStep,
    Names,
    Part,
    handover_steps,
    part_steps,
)

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


assignments = st.dictionaries(st.sampled_from("pqrstu"), st.sampled_from(BROKERS), min_size=1)


def lists_of(assigned: dict[str, str]) -> dict[str, Names]:
    return {
        broker: frozenset(name for name, at in assigned.items() if at == broker)
        for broker in sorted(set(assigned.values()))
    }


def parts_of(whole: Part, lists: dict[str, Names]) -> dict[str, Part]:
    """Every broker that lets publishers in has a part."""
    return split(whole, {broker: float(len(names)) for broker, names in lists.items()})


def every_state(
    steps: list[HandoverStep], parts: dict[str, Part], lists: dict[str, Names]
) -> list[tuple[dict[str, Part | None], dict[str, Names | None]]]:
    """Return what brokers may have in force, whoever of a step has followed; and the same where
    the step is given up and the steps before it are taken back."""
    now: tuple[dict[str, Part | None], dict[str, Names | None]] = (dict(parts), dict(lists))
    states = [now]
    for step in steps:
        for kind, changes in enumerate((step.parts, step.lists)):
            for broker, (before, _) in changes.items():
                assert now[kind].get(broker) == before, "an action finds what it expects"
        parts_after = _some_of({broker: after for broker, (_, after) in step.parts.items()})
        lists_after = _some_of({broker: after for broker, (_, after) in step.lists.items()})
        states += [({**now[0], **p}, {**now[1], **n}) for p in parts_after for n in lists_after]
        now = states[-1]
    return states


def _some_of(changes: dict) -> list[dict]:
    """Return every choice of the changes, the whole last."""
    return [
        {broker: changes[broker] for broker, does in zip(changes, chosen, strict=True) if does}
        for chosen in product([False, True], repeat=len(changes))
    ]


def taken_back(steps: list[HandoverStep]) -> list[HandoverStep]:
    def swap(changes):
        return {broker: (after, before) for broker, (before, after) in changes.items()}

    return [
        HandoverStep(parts=swap(step.parts), lists=swap(step.lists)) for step in reversed(steps)
    ]


@given(wholes, assignments, assignments)
@settings(deadline=None)
def test_nobody_is_in_two_lists_and_the_bucket_is_kept(
    whole: Part, was: dict[str, str], shall: dict[str, str]
) -> None:
    before, after = lists_of(was), lists_of(shall)
    parts = parts_of(whole, before), parts_of(whole, after)
    steps = handover_steps(parts, (before, after), staying={})
    ways = [(steps, parts[0], before), (taken_back(steps), parts[1], after)]
    for broken in range(1, len(steps)):
        # A rollback from the middle begins where the steps so far have led.
        reached = every_state(steps[:broken], parts[0], before)[-1]
        there = [{b: v for b, v in kind.items() if v is not None} for kind in reached]
        ways.append((taken_back(steps[:broken]), there[0], there[1]))
    for way, start_parts, start_lists in ways:
        for some_parts, some_lists in every_state(way, start_parts, start_lists):
            held = [part for part in some_parts.values() if part is not None]
            assert sum(part.rate_per_s for part in held) <= whole.rate_per_s * (1 + SLACK)
            assert sum(part.size for part in held) <= whole.size * (1 + SLACK)
            names = [name for let_in in some_lists.values() for name in let_in or ()]
            assert len(names) == len(set(names))
    end_parts, end_lists = every_state(steps, parts[0], before)[-1]
    assert {b: names for b, names in end_lists.items() if names is not None} == after
    assert {b: part for b, part in end_parts.items() if part is not None} == parts[1]


@given(wholes, assignments, assignments)
@settings(deadline=None)
def test_who_moves_is_released_before_parts_change_and_let_in_after(
    whole: Part, was: dict[str, str], shall: dict[str, str]
) -> None:
    before, after = lists_of(was), lists_of(shall)
    parts = parts_of(whole, before), parts_of(whole, after)
    steps = handover_steps(parts, (before, after), staying={})
    at_parts = [index for index, step in enumerate(steps) if step.parts]
    for index, step in enumerate(steps):
        assert bool(step.lists) != bool(step.parts)
        for old, new in step.lists.values():
            gone, come = (old or NOBODY) - (new or NOBODY), (new or NOBODY) - (old or NOBODY)
            assert not gone or all(index < at for at in at_parts)
            assert not come or all(index > at for at in at_parts)
            assert not (gone and come)
    moving = {name for name in was if shall.get(name) != was[name]}
    released = {
        name
        for step in steps
        for old, new in step.lists.values()
        for name in (old or NOBODY) - (new or NOBODY)
    }
    assert released == moving


def test_an_open_topic_is_closed_to_those_who_stay() -> None:
    whole = Part(rate_per_s=10.0, size=4.0)
    after = {"a": frozenset("p"), "b": frozenset("qr")}
    steps = handover_steps(
        ({}, parts_of(whole, after)),
        ({}, after),
        staying={"a": frozenset("pqz"), "c": frozenset("r")},
        source="a",
    )
    assert [dict(step.lists) for step in steps] == [
        {"a": (None, frozenset("p")), "b": (None, NOBODY)},
        {},
        {},
        {"b": (NOBODY, frozenset("qr"))},
    ]
    assert [set(step.parts) for step in steps] == [set(), {"a"}, {"b"}, set()]


def test_a_broker_that_serves_nobody_any_more_loses_its_list_last() -> None:
    whole = Part(rate_per_s=10.0, size=4.0)
    before, after = {"a": frozenset("p"), "b": frozenset("q")}, {"b": frozenset("pq")}
    first, *_, last = handover_steps(
        (parts_of(whole, before), parts_of(whole, after)), (before, after), staying={}
    )
    assert first.lists == {"a": (frozenset("p"), NOBODY)}
    assert last.lists == {"a": (NOBODY, None), "b": (frozenset("q"), frozenset("pq"))}


def test_where_nobody_moves_lists_stay() -> None:
    lists = {"a": frozenset("p"), "b": frozenset("q")}
    parts = parts_of(Part(rate_per_s=10.0, size=4.0), lists)
    assert handover_steps((parts, parts), (lists, lists), staying={}, source="a") == []


def test_lists_that_end_release_whoever_is_where_the_topic_enters_no_more() -> None:
    lists = {"a": frozenset("p"), "b": frozenset("q")}
    parts = parts_of(Part(rate_per_s=10.0, size=4.0), lists)
    after = {"b": Part(rate_per_s=10.0, size=4.0)}
    first, *_, last = handover_steps((parts, after), (lists, {}), staying={})
    assert first.lists == {"a": (frozenset("p"), NOBODY)}
    assert last.lists == {"a": (NOBODY, None), "b": (frozenset("q"), None)}
