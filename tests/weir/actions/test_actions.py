"""Every kind of action keeps the folder's contract; what is each one's own."""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import replace
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.plan_strategies import in_force_and_steps, tree_actions, trees
from weir import actions
from weir.actions import (
    Edge,
    InForce,
    inverse,
    inverse_steps,
    kinds,
    replay,
    setting_key,
    target_key,
)
from weir.actions._protocol import ActionKind
from weir.errors import InvalidProblem
from weir.model.plan import Action, Step
from weir.plugins import discover

KINDS = sorted(kinds())
RATE = {"rate_per_s": 10.0, "burst": 5.0}
PART = {"rate_per_s": 36_740.0, "size": 16.03, "mode": "enforce"}
CLOSED = {"rate_per_s": 0.0, "size": 0.0, "mode": "enforce"}
COUNTED = {**PART, "mode": "count"}
NAMED = {"publishers": ["p1", "p2", "p3"]}
NOBODY: dict[str, Any] = {"publishers": []}
ORDER = {"window_s": 10.0, "period_s": 1.0, "least_share": 0.02, "brokers": ["b1", "b2"]}
SAMPLES: dict[str, Action] = {
    "adapt_parts": Action(kind="adapt_parts", target={"flow": "orders"}, after=ORDER),
    "assign_publishers": Action(
        kind="assign_publishers",
        target={"flow": "orders", "broker": "b1"},
        before=NAMED,
        after={"publishers": ["p1", "p3"]},
    ),
    "set_flow_rate": Action(
        kind="set_flow_rate",
        target={"flow": "orders", "broker": "b1"},
        before=RATE,
        after={"rate_per_s": 120.0, "burst": 12.0},
        effect="Orders get through.",
    ),
    "set_bucket": Action(
        kind="set_bucket",
        target={"flow": "orders", "broker": "b1"},
        before=None,
        after=PART,
    ),
    "set_population": Action(
        kind="set_population",
        target={"class": "gold", "flow": "orders", "broker": "b2"},
        before={"limit": 55},
        after={"limit": 40},
    ),
    "move_flow": Action(
        kind="move_flow",
        target={"flow": "fx.EURO"},
        before={"stream": "s-3"},
        after={"stream": "s-7"},
        effect="Saves receivers 1,240 work/s.",
    ),
    "move_stream": Action(
        kind="move_stream",
        target={"stream": "s-3"},
        before={"group": "g-1"},
        after={"group": "g-2"},
    ),
    "carry_flow": Action(
        kind="carry_flow",
        target={"flow": "orders"},
        after={"delivery": "reliable", "broker": "b2"},
    ),
    "serve_class": Action(
        kind="serve_class",
        target={"class": "gold", "broker": "b2"},
        before=None,
        after={"flow": "orders"},
    ),
    "shift_link": Action(kind="shift_link", target={"i": "b1", "j": "b2", "k": "b3"}),
    "append_broker": Action(kind="append_broker", target={"broker": "b7", "to": "b2"}),
    "detach_broker": Action(kind="detach_broker", target={"broker": "b7", "from": "b2"}),
    "remove_broker": Action(
        kind="remove_broker", target={"gone1": "b4", "n1": "b1", "n2/n1": "b2", "n3/n2": "b5"}
    ),
}
REVERSIBLE = [name for name in KINDS if not kinds()[name].FINAL]
OF_THE_MAP = ("move_flow", "move_stream")
"""Kinds that change what Weir itself keeps: no broker takes part, and nothing is limited."""


def test_every_kind_has_a_sample() -> None:
    assert sorted(SAMPLES) == KINDS


@pytest.mark.parametrize("name", KINDS)
def test_kind_keeps_the_contract(name: str) -> None:
    module = discover("weir.actions")[name]
    assert name == module.KIND
    assert module.TITLE
    assert module.SUMMARY
    assert module.PROTOCOL in ("setting", "tree")
    for function, wanted in inspect.getmembers(ActionKind, inspect.isfunction):
        if function.startswith("_"):
            continue
        parameters = list(inspect.signature(getattr(module, function)).parameters)
        assert parameters == list(inspect.signature(wanted).parameters)[1:], function
    sample = SAMPLES[name]
    actions.validate(sample)
    assert bool(actions.brokers(sample)) is (name not in OF_THE_MAP)
    assert actions.absent(sample) <= set(actions.brokers(sample))
    assert actions.title(sample) != actions.undo_title(sample)
    if name in REVERSIBLE:
        actions.validate(inverse(sample))
        assert inverse(inverse(sample)) == sample
        assert set(actions.brokers(inverse(sample))) == set(actions.brokers(sample))
        assert actions.title(inverse(sample)) == actions.undo_title(sample)
        assert not actions.absent(sample)
    else:
        with pytest.raises(InvalidProblem, match="cannot be rolled back"):
            inverse(sample)
    if module.PROTOCOL == "tree":
        assert set(actions.roles(sample).values()) == set(actions.brokers(sample))
        if name in REVERSIBLE:
            assert set(actions.roles(sample)) <= {"i", "j", "k"}
        assert not actions.is_takeaway(sample)
    else:
        assert not actions.roles(sample)
        assert module.apply_edges({("a", "b")}, sample) == {("a", "b")}
        takes = [actions.is_takeaway(each) for each in (sample, inverse(sample))]
        assert sorted(takes) == [False, name not in OF_THE_MAP]


@pytest.mark.parametrize("name", REVERSIBLE)
def test_kind_refuses_a_target_with_missing_or_unknown_members(name: str) -> None:
    sample = SAMPLES[name]
    for member in sample.target:
        left = {key: value for key, value in sample.target.items() if key != member}
        with pytest.raises(InvalidProblem, match=f'missing key "{member}"') as caught:
            actions.validate(replace(sample, target=left))
        assert caught.value.path == "target"
        with pytest.raises(InvalidProblem) as caught:
            actions.validate(replace(sample, target={**sample.target, member: ""}))
        assert caught.value.path == f"target.{member}"
    with pytest.raises(InvalidProblem, match='unknown key "colour"'):
        actions.validate(replace(sample, target={**sample.target, "colour": "red"}))


def _with(name: str, **fields: Any) -> Action:
    return replace(SAMPLES[name], **fields)


@pytest.mark.parametrize(
    ("action", "path", "words"),
    [
        (_with("set_flow_rate", after=RATE), "after", "equals before"),
        (_with("set_flow_rate", after={**RATE, "burst": 0.5}), "after.burst", "below 1 message"),
        (_with("set_flow_rate", before={**RATE, "rate_per_s": -1}), "before.rate_per_s", "negat"),
        (_with("set_flow_rate", after={"rate_per_s": 1}), "after", 'missing key "burst"'),
        (_with("set_flow_rate", after=7), "after", "must be an object, not 7"),
        (_with("set_flow_rate", after={**RATE, "burst": float("nan")}), "after.burst", "finite"),
        (_with("set_bucket", after={**PART, "size": 0.0}), "after.size", "a part of nothing"),
        (_with("set_bucket", after={**PART, "rate_per_s": 0.0}), "after.rate_per_s", "positive"),
        (_with("set_bucket", after={**PART, "size": -1.0}), "after.size", "negative"),
        (_with("set_bucket", after={**PART, "mode": 1}), "after.mode", "enforce or count"),
        (_with("set_bucket", after={**CLOSED, "mode": "count"}), "after.mode", "enforced"),
        (_with("set_bucket", after=RATE), "after", 'unknown key "burst"'),
        (_with("adapt_parts", before=ORDER), "after", "equals before"),
        (_with("adapt_parts", after={**ORDER, "window_s": 1.9}), "after.window_s", "at least 2"),
        (_with("adapt_parts", after={**ORDER, "window_s": 301}), "after.window_s", "at most 300"),
        (_with("adapt_parts", after={**ORDER, "window_s": True}), "after.window_s", "a number"),
        (_with("adapt_parts", before={**ORDER, "period_s": 0.5}), "before.period_s", "at least 1"),
        (_with("adapt_parts", after={**ORDER, "period_s": 61}), "after.period_s", "at most 60"),
        (
            _with("adapt_parts", after={**ORDER, "period_s": 11.0}),
            "after.period_s",
            "must not be above window_s, 10",
        ),
        (_with("adapt_parts", after={**ORDER, "least_share": -0.1}), "after.least_share", "0"),
        (_with("adapt_parts", after={**ORDER, "least_share": 0.3}), "after.least_share", "0.2"),
        (_with("adapt_parts", after={**ORDER, "least_share": "0"}), "after.least_share", "number"),
        (_with("adapt_parts", after={**ORDER, "brokers": []}), "after.brokers", "at least one"),
        (_with("adapt_parts", after={**ORDER, "brokers": "b1"}), "after.brokers", "a list"),
        (_with("adapt_parts", after={**ORDER, "brokers": [7]}), "after.brokers[0]", "a name"),
        (
            _with("adapt_parts", after={**ORDER, "brokers": ["b2", "b1"]}),
            "after.brokers[1]",
            "sort the names",
        ),
        (
            _with("adapt_parts", after={**ORDER, "brokers": ["b1", "b1"]}),
            "after.brokers[1]",
            "each once",
        ),
        (_with("adapt_parts", after={**ORDER, "gain": 1.0}), "after", 'unknown key "gain"'),
        (_with("adapt_parts", after=RATE), "after", "unknown key"),
        (_with("assign_publishers", after=NAMED), "after", "equals before"),
        (_with("assign_publishers", after={"publishers": ("p1", "p2", "p3")}), "after", "equals"),
        (_with("assign_publishers", after={"publishers": "p1"}), "after.publishers", "a list"),
        (_with("assign_publishers", after={"publishers": [""]}), "after.publishers[0]", "1 to"),
        (_with("assign_publishers", after={"publishers": ["\ud800"]}), "after.publishers[0]", ""),
        (
            _with("assign_publishers", after={"publishers": ["b", "a"]}),
            "after.publishers[1]",
            "sort the names",
        ),
        (
            _with("assign_publishers", after={"publishers": ["a", "a"]}),
            "after.publishers[1]",
            "each once",
        ),
        (
            _with("assign_publishers", before={"publishers": [f"{n:05}" for n in range(20_001)]}),
            "before.publishers",
            "has 20,001 names; a broker takes 20,000 at most",
        ),
        (_with("assign_publishers", after={}), "after", 'missing key "publishers"'),
        (_with("set_population", after={"limit": 1.5}), "after.limit", "whole number"),
        (_with("set_population", after={"limit": True}), "after.limit", "must be a number"),
        (_with("set_population", before={"limit": 2**60}), "before.limit", "more than"),
        (_with("carry_flow", after={"delivery": "reliable"}), "after", 'missing key "broker"'),
        (
            _with("carry_flow", after={"delivery": "perhaps", "broker": ""}),
            "after.delivery",
            "must be one of best_effort, reliable",
        ),
        (
            _with("carry_flow", after={"delivery": "reliable", "broker": 7}),
            "after.broker",
            "must be a name",
        ),
        (_with("carry_flow", after=None), "after", "equals before"),
        (_with("serve_class", after={"flow": ""}), "after.flow", "1 to 1000 characters"),
        (_with("serve_class", before={"flow": "orders"}), "after", "equals before"),
        (_with("move_flow", after={"stream": "s-3"}), "after", "equals before"),
        (_with("move_flow", before=None, after=None), "after", "equals before"),
        (_with("move_flow", after={"group": "g-1"}), "after", 'unknown key "group"'),
        (_with("move_flow", after={}), "after", 'missing key "stream"'),
        (_with("move_flow", after={"stream": ""}), "after.stream", "1 to 1000 characters"),
        (_with("move_flow", before={"stream": 7}), "before.stream", "must be a name, not 7"),
        (_with("move_flow", after="s-7"), "after", "must be an object"),
        (_with("move_flow", target={"flow": "a", "broker": "b"}), "target", "unknown key"),
        (_with("move_stream", after={"group": "g-1"}), "after", "equals before"),
        (_with("move_stream", before=None, after=None), "after", "equals before"),
        (_with("move_stream", after={"stream": "s-7"}), "after", 'unknown key "stream"'),
        (_with("move_stream", before={"group": None}), "before.group", "must be a name"),
        (_with("move_stream", target={"stream": 3}), "target.stream", "must be a name, not 3"),
        (_with("shift_link", target={"i": "a", "j": "b", "k": "a"}), "target", "three different"),
        (_with("shift_link", after=RATE), "after", "must be null"),
        (_with("append_broker", target={"broker": "a", "to": "a"}), "target.to", "another"),
        (_with("detach_broker", target={"broker": "a", "from": "a"}), "target.from", "another"),
    ],
)
def test_nonsense_is_refused_by_name(action: Action, path: str, words: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        actions.validate(action)
    assert caught.value.path == path
    assert words in caught.value.message


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidProblem, match='no action kind "paint"; known are adapt_parts'):
        actions.title(Action(kind="paint", target={}))


def test_titles_read_like_sentences_with_units() -> None:
    assert actions.title(SAMPLES["set_flow_rate"]) == (
        "Set orders at b1 from 10 msg/s to 120 msg/s, burst 12"
    )
    assert actions.undo_title(SAMPLES["set_flow_rate"]) == (
        "Set orders at b1 from 120 msg/s to 10 msg/s, burst 5"
    )
    first = _with("set_flow_rate", before=None)
    assert actions.title(first) == "Set orders at b1 to 120 msg/s, burst 12"
    assert actions.undo_title(first) == "Stop limiting orders at b1 (was 120 msg/s)"
    part = "36,740 tokens/s, bucket 16.03"
    assert actions.title(SAMPLES["set_bucket"]) == f"Give orders at b1 {part}"
    assert actions.undo_title(SAMPLES["set_bucket"]) == (
        f"End the part of the bucket of orders at b1 (was {part})"
    )
    assert actions.title(_with("set_bucket", before=CLOSED, after=COUNTED)) == (
        f"Count what {part} would hold of orders at b1 (was closed)"
    )
    assert actions.title(_with("set_bucket", before=COUNTED, after=CLOSED)) == (
        f"Let nothing of orders enter at b1 (was counting {part})"
    )
    assert actions.title(SAMPLES["set_population"]) == "Admit 40 consumers of gold at b2 (was 55)"
    nobody = _with("set_population", after={"limit": 0})
    assert actions.title(nobody) == "Admit no consumers of gold at b2 (was 55)"
    assert actions.title(_with("set_population", after=None)) == (
        "Admit every consumer of gold at b2 (limit was 55)"
    )
    assert actions.title(SAMPLES["shift_link"]) == "Shift link b1-b2 to b1-b3"
    assert actions.undo_title(SAMPLES["shift_link"]) == "Shift link b1-b3 to b1-b2"


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (None, NAMED, "Let only 3 publishers of orders in at b1"),
        (None, {"publishers": ["p1"]}, "Let only 1 publisher of orders in at b1"),
        (None, NOBODY, "Let no publisher of orders in at b1"),
        (NAMED, None, "End the list of publishers of orders at b1 (named 3)"),
        (NOBODY, None, "End the list of publishers of orders at b1 (named 0)"),
        (NOBODY, NAMED, "Let 3 publishers of orders in at b1"),
        (NAMED, NOBODY, "Release all 3 publishers of orders from b1"),
        ({"publishers": ["p1"]}, NOBODY, "Release the 1 publisher of orders from b1"),
        ({"publishers": ["p1"]}, NAMED, "Let 2 more publishers of orders in at b1 (3 then)"),
        (NAMED, {"publishers": ["p1"]}, "Release 2 publishers of orders from b1 (1 then)"),
        (
            NAMED,
            {"publishers": ["p2", "p9"]},
            "Let 1 publisher of orders in at b1 instead of 2 (2 then)",
        ),
    ],
)
def test_titles_count_publishers(before: Any, after: Any, title: str) -> None:
    changed = _with("assign_publishers", before=before, after=after)
    assert actions.title(changed) == title
    assert actions.undo_title(inverse(changed)) == title


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        (None, NAMED, True),
        (NAMED, None, False),
        (NAMED, NOBODY, True),
        (NOBODY, NAMED, False),
        (NAMED, {"publishers": ["p2", "p9"]}, False),
    ],
)
def test_a_list_takes_away_who_is_let_in_no_more(before: Any, after: Any, takes: bool) -> None:
    assert actions.is_takeaway(_with("assign_publishers", before=before, after=after)) is takes


def test_a_list_of_names_equals_a_tuple_of_them() -> None:
    action = SAMPLES["assign_publishers"]
    names = action.before and tuple(action.before["publishers"])
    start = InForce(settings={setting_key(action): {"publishers": names}})
    assert replay(start, [Step(actions=(action,))]).settings == {setting_key(action): action.after}
    with pytest.raises(InvalidProblem) as caught:
        replay(start, [Step(actions=(replace(action, before={"publishers": ["p7", "p8", "p9"]}),))])
    assert caught.value.message == (
        "is a list of 3 publishers, but a list of 3 publishers with other names is in force; "
        "plan again"
    )


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        (None, RATE, True),
        (RATE, None, False),
        (RATE, {"rate_per_s": 9.0, "burst": 50.0}, True),
        (RATE, {"rate_per_s": 11.0, "burst": 1.0}, False),
        (RATE, {"rate_per_s": 10.0, "burst": 4.0}, True),
        (RATE, {"rate_per_s": 10.0, "burst": 6.0}, False),
    ],
)
def test_what_takes_away(before: Any, after: Any, takes: bool) -> None:
    assert actions.is_takeaway(_with("set_flow_rate", before=before, after=after)) is takes


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (
            None,
            ORDER,
            "Adapt the parts of orders at 2 brokers to its traffic every 1 s, by the last 10 s",
        ),
        (ORDER, None, "End the adaptation of the parts of orders at 2 brokers"),
        (
            ORDER,
            {**ORDER, "window_s": 30.0, "period_s": 2.0},
            "Adapt the parts of orders at 2 brokers every 2 s, by the last 30 s "
            "(was every 1 s, by the last 10 s)",
        ),
        (
            ORDER,
            {**ORDER, "least_share": 0.0},
            "Adapt the parts of orders at 2 brokers every 1 s, by the last 10 s, 0 % for an idle "
            "broker (was every 1 s, by the last 10 s, 2 % for an idle broker)",
        ),
        (
            ORDER,
            {**ORDER, "brokers": ["b1"]},
            "Adapt the parts of orders at b1 to its traffic (was at 2 brokers)",
        ),
    ],
)
def test_the_title_of_an_order_says_what_of_it_changes(before: Any, after: Any, title: str) -> None:
    assert actions.title(_with("adapt_parts", before=before, after=after)) == title


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        (ORDER, {**ORDER, "brokers": ["b1"]}, True),
        (ORDER, {**ORDER, "brokers": ["b1", "b2", "b3"]}, False),
        (ORDER, {**ORDER, "brokers": ["b1"], "window_s": 20.0}, False),
        (ORDER, {**ORDER, "least_share": 0.01}, False),
    ],
)
def test_an_order_takes_away_brokers_only(before: Any, after: Any, takes: bool) -> None:
    assert actions.is_takeaway(_with("adapt_parts", before=before, after=after)) is takes


def test_an_order_concerns_the_brokers_before_and_after_it() -> None:
    moved = _with("adapt_parts", before=ORDER, after={**ORDER, "brokers": ["b2", "b3"]})
    assert actions.brokers(moved) == ("b1", "b2", "b3")


@pytest.mark.parametrize(
    ("before", "after", "takes"),
    [
        (None, PART, False),
        (PART, None, True),
        (PART, CLOSED, True),
        (CLOSED, PART, False),
        (PART, {**PART, "size": 16.0}, True),
        (PART, {**PART, "rate_per_s": 36_741.0, "size": 1.0}, False),
    ],
)
def test_a_part_takes_away_what_it_lacks(before: Any, after: Any, takes: bool) -> None:
    assert actions.is_takeaway(_with("set_bucket", before=before, after=after)) is takes


def test_target_key_does_not_depend_on_the_order_of_members() -> None:
    assert target_key({"flow": "a", "broker": "b"}) == target_key({"broker": "b", "flow": "a"})
    assert target_key({"flow": 'a","broker":"b', "broker": ""}) != target_key(
        {"flow": "a", "broker": "b"}
    )


@settings(deadline=None)
@given(in_force_and_steps())
def test_a_plan_and_its_inverse_restore_what_was_in_force(
    given_: tuple[InForce, tuple[Step, ...]],
) -> None:
    start, steps = given_
    after = replay(start, steps)
    undo = inverse_steps(steps)
    assert replay(after, undo) == start
    assert inverse_steps(undo) == steps


@settings(deadline=None)
@given(in_force_and_steps(), st.data())
def test_a_plan_broken_off_anywhere_is_undone_exactly(
    given_: tuple[InForce, tuple[Step, ...]], data: st.DataObject
) -> None:
    """Whole steps, then some actions of the one in which it broke off."""
    start, steps = given_
    broken = data.draw(st.integers(0, len(steps) - 1))
    size = len(steps[broken].actions)
    some = data.draw(st.sets(st.integers(0, size - 1)))
    done = {(s, a) for s in range(broken) for a in range(len(steps[s].actions))}
    done |= {(broken, a) for a in some}
    partial = [
        *steps[:broken],
        Step(actions=tuple(steps[broken].actions[a] for a in sorted(some))),
    ]
    assert replay(replay(start, partial), inverse_steps(steps, done)) == start


@settings(deadline=None)
@given(trees(), st.data())
def test_a_tree_action_keeps_the_edges_a_tree(edges: frozenset[Edge], data: st.DataObject) -> None:
    for _ in range(4):
        action = data.draw(tree_actions(edges))
        edges = replay(InForce(edges=edges), [Step(actions=(action,))]).edges
        assert nx.is_tree(nx.Graph(list(edges)))


@settings(deadline=None)
@given(trees(), st.data())
def test_a_tree_action_that_does_not_fit_is_refused_or_leaves_a_tree(
    edges: frozenset[Edge], data: st.DataObject
) -> None:
    broker = st.sampled_from([f"b{i}" for i in range(10)])
    kind = data.draw(st.sampled_from(["shift_link", "append_broker", "detach_broker"]))
    members = SAMPLES[kind].target
    drawn = data.draw(st.lists(broker, min_size=3, max_size=3, unique=True))
    action = Action(kind=kind, target=dict(zip(members, drawn, strict=False)))
    after = edges
    with contextlib.suppress(InvalidProblem):
        after = replay(InForce(edges=edges), [Step(actions=(action,))]).edges
        assert after != edges
    assert nx.is_tree(nx.Graph(list(after)))


def test_replay_refuses_what_moved_meanwhile() -> None:
    action = SAMPLES["set_flow_rate"]
    settings = {setting_key(action): {"rate_per_s": 11.0, "burst": 5.0}}
    with pytest.raises(InvalidProblem) as caught:
        replay(InForce(settings=settings), [Step(actions=(action,))])
    assert caught.value.path == "steps[0].actions[0].before"
    assert "rate_per_s 11.0 is in force" in caught.value.message


def test_two_brokers_can_part_and_meet_again() -> None:
    start = InForce(edges=frozenset({("a", "b")}))
    step = Step(actions=(Action(kind="detach_broker", target={"broker": "b", "from": "a"}),))
    alone = replay(start, [step])
    assert alone.edges == frozenset()
    assert replay(alone, inverse_steps([step])) == start


def test_a_flow_that_moves_is_confirmed_at_both_its_ingresses() -> None:
    moved = Action(
        kind="carry_flow",
        target={"flow": "orders"},
        before={"delivery": "best_effort", "broker": "b1"},
        after={"delivery": "reliable", "broker": "b2"},
    )
    assert actions.brokers(moved) == ("b1", "b2")
    assert actions.title(moved) == (
        "Carry orders from b2 instead of b1 and as reliable instead of best effort"
    )
    nowhere = replace(moved, after={"delivery": "best_effort", "broker": ""})
    assert actions.brokers(nowhere) == ("b1",)
    assert actions.title(nowhere) == "Carry orders from nowhere instead of b1"
    assert not actions.is_takeaway(moved)


@pytest.mark.parametrize(
    ("kind", "before", "after", "title", "undo_title"),
    [
        (
            "move_flow",
            {"stream": "s-3"},
            {"stream": "s-7"},
            "Move fx.EURO from stream s-3 to s-7",
            "Move fx.EURO from stream s-7 to s-3",
        ),
        (
            "move_flow",
            None,
            {"stream": "s-7"},
            "Put fx.EURO into stream s-7",
            "Take fx.EURO out of stream s-7",
        ),
        (
            "move_stream",
            {"group": "g-1"},
            {"group": "g-2"},
            "Move stream s-3 from group g-1 to g-2",
            "Move stream s-3 from group g-2 to g-1",
        ),
        (
            "move_stream",
            {"group": "g-1"},
            None,
            "Take stream s-3 out of group g-1",
            "Put stream s-3 into group g-1",
        ),
    ],
)
def test_a_move_says_from_where_to_where(
    kind: str, before: Any, after: Any, title: str, undo_title: str
) -> None:
    move = _with(kind, before=before, after=after)
    actions.validate(move)
    assert actions.title(move) == title
    assert actions.undo_title(move) == undo_title == actions.title(inverse(move))


@pytest.mark.parametrize(
    ("effect", "back"),
    [
        ("Saves receivers 12 work/s.", "Costs receivers 12 work/s."),
        (
            "3 subscribers can receive it from then on. Costs receivers 4 work/s.",
            "3 subscribers can receive it no longer. Saves receivers 4 work/s.",
        ),
        (
            "Nobody wants it any more. Saves receivers 9 work/s.",
            "It comes back, though nobody wanted it. Costs receivers 9 work/s.",
        ),
        ("Because I say so.", "Undoes: Because I say so."),
        ("", ""),
    ],
)
def test_a_move_back_has_the_opposite_price(effect: str, back: str) -> None:
    for kind, after in (("move_flow", {"stream": "s-1"}), ("move_stream", {"group": "g-1"})):
        move = replace(_with(kind, before=None, after=after), effect=effect)
        assert inverse(move).effect == back
        assert inverse(inverse(move)) == move


@pytest.mark.parametrize(
    ("noun", "name", "called"),
    [
        ("stream", "s-3", "stream s-3"),
        ("stream", "stream-07", "stream-07"),
        ("group", "Group A", "Group A"),
    ],
)
def test_a_noun_is_said_once(noun: str, name: str, called: str) -> None:
    assert actions.called(noun, name) == called


def test_a_flow_and_a_stream_of_one_name_move_apart() -> None:
    flow = Action(kind="move_flow", target={"flow": "x"}, after={"stream": "x"})
    stream = Action(kind="move_stream", target={"stream": "x"}, after={"group": "x"})
    step = Step(actions=(stream, flow))
    after = replay(InForce(), [step])
    assert after.settings == {
        ("move_flow", '{"flow":"x"}'): {"stream": "x"},
        ("move_stream", '{"stream":"x"}'): {"group": "x"},
    }
    assert replay(after, inverse_steps([step])) == InForce()
    elsewhere = replace(flow, before={"stream": "y"}, after={"stream": "z"})
    with pytest.raises(InvalidProblem, match=r'is stream "y", but stream "x" is in force'):
        replay(after, [Step(actions=(elsewhere,))])


def test_a_class_that_changes_its_flow_says_from_which() -> None:
    changed = Action(
        kind="serve_class",
        target={"class": "gold", "broker": "b2"},
        before={"flow": "orders"},
        after={"flow": "trades"},
    )
    assert actions.title(changed) == "Serve gold at b2 with trades instead of orders"
    assert actions.title(replace(changed, after=None)) == "Stop serving gold at b2"
