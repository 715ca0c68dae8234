"""What a telemetry message may hold; no database needed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.telemetry.api.serializers import ClassSampleSerializer, FlowSampleSerializer
from apps.telemetry.domain.payload import (
    CLASS,
    CLASS_DELAYS,
    FLOW,
    FLOW_DELAYS,
    telemetry_checked,
)
from weir.errors import InvalidProblem
from weir.queueing.wait_histogram import HIGHEST, LOWEST

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
NAMES = ["interval_s", "flows", "classes", "links", "lost", "broker", "agent", "publishers", "new"]
MEMBERS = st.sampled_from(NAMES)


@pytest.mark.parametrize(
    ("plain", "path"),
    [
        (None, "telemetry"),
        ({"interval_s": "1"}, "telemetry.interval_s"),
        ({"flows": []}, "telemetry.flows"),
        ({"flows": {"f": {"offered_per_s": -1}}}, "telemetry.flows.f.offered_per_s"),
        ({"classes": {"c": {"admitted": float("nan")}}}, "telemetry.classes.c.admitted"),
        ({"links": {"b": {"backlog": True}}}, "telemetry.links.b.backlog"),
        ({"broker": {"unmanaged": "x"}}, "telemetry.broker.unmanaged"),
        ({"broker": {"unmanaged": ["\x00"]}}, "telemetry.broker.unmanaged"),
        ({"broker": {"sync_always": "yes"}}, "telemetry.broker.sync_always"),
        ({"flows": {"\x00": {}}}, "telemetry.flows"),
        ({"publishers": []}, "telemetry.publishers"),
        ({"publishers": {"p": 3}}, "telemetry.publishers.p"),
        ({"publishers": {"p": [1]}}, "telemetry.publishers.p"),
        ({"publishers": {"p": [1.5, None]}}, "telemetry.publishers.p"),
        ({"publishers": {"p": [-1, None]}}, "telemetry.publishers.p"),
        ({"publishers": {"p": [1, "now"]}}, "telemetry.publishers.p"),
        ({"publishers": {"p": [1, float("inf")]}}, "telemetry.publishers.p"),
        ({"publishers": {"p" * 201: [1, None]}}, "telemetry.publishers"),
        ({"publishers": {"\ud800": [1, None]}}, "telemetry.publishers"),
        ({"publishers": {str(n): [1, None] for n in range(5_001)}}, "telemetry.publishers"),
    ],
)
def test_the_error_names_the_member(plain, path):
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked(plain)
    assert refused.value.path == path


@given(plain=st.dictionaries(MEMBERS, ANYTHING))
def test_what_is_taken_can_be_stored(plain):
    try:
        kept = telemetry_checked(plain)
    except InvalidProblem:
        return
    text = json.dumps(kept, allow_nan=False)
    assert "\\u0000" not in text
    assert "\\ud8" not in text.lower()
    members = {"interval_s", "flows", "classes", "links", "lost", "broker", "agent"}
    assert set(kept) - {"suspect", "publishers"} == members
    assert ("publishers" in kept) is (plain.get("publishers") is not None)


@given(plain=st.dictionaries(MEMBERS, ANYTHING))
def test_taking_it_twice_gives_the_same(plain):
    try:
        kept = telemetry_checked(plain)
    except InvalidProblem:
        return
    assert telemetry_checked(kept) == kept


def test_an_empty_message_is_one():
    assert telemetry_checked({}) == {
        "interval_s": 1.0,
        "flows": {},
        "classes": {},
        "links": {},
        "broker": {"unmanaged": [], "sync_always": None},
        "lost": {},
        "agent": {},
    }


def told(out_per_s, *delivered):
    classes = {f"class {n}": {"delivered_per_s": rate} for n, rate in enumerate(delivered)}
    broker = {} if out_per_s is None else {"out_msgs_per_s": out_per_s}
    return telemetry_checked({"classes": classes, "broker": broker, "suspect": "whatever"})


def test_classes_that_got_more_than_the_broker_sent_make_a_sample_suspect():
    assert told(136, 166_724, 3)["suspect"] == (
        "Its classes were given 166,727 messages a second, and the broker sent 136 in all."
    )


@pytest.mark.parametrize(
    ("out_per_s", "delivered"), [(136, [130, 5]), (0, []), (0, [15]), (1000, [1100]), (None, [9e9])]
)
def test_rounding_and_what_cannot_be_compared_are_no_contradiction(out_per_s, delivered):
    assert "suspect" not in told(out_per_s, *delivered)


def test_what_was_sent_between_two_counts_of_the_reading_before_is_no_contradiction():
    classes = {"gold": {"delivered_per_s": 120.0}}
    broker = {"out_msgs_per_s": 60.0, "out_most_per_s": 120.0}
    assert "suspect" not in telemetry_checked({"classes": classes, "broker": broker})
    # It is nothing that the broker need not have sent.
    broker["out_most_per_s"] = 70.0
    assert telemetry_checked({"classes": classes, "broker": broker})["suspect"]


def test_what_is_taken_of_flows_and_classes_is_what_the_api_describes():
    assert {*FLOW, *FLOW_DELAYS} == set(FlowSampleSerializer().fields)
    assert {*CLASS, *CLASS_DELAYS} == set(ClassSampleSerializer().fields)


@pytest.mark.parametrize(
    "bins",
    [
        None,
        7,
        "[]",
        {"3": 1},
        [3],
        [[3]],
        [[3, 1, 1]],
        ["31"],
        [[3, 0]],
        [[3, -1]],
        [[3, 1.0]],
        [[3, True]],
        [[3, None]],
        [[3, 2**53]],
        [[3.0, 1]],
        [[False, 1]],
        [["3", 1]],
        [[LOWEST - 1, 1]],
        [[HIGHEST + 1, 1]],
        [[3, 1], [4, 1], [3, 1]],
    ],
)
def test_delays_that_are_no_histogram_are_refused(bins):
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked({"flows": {"f": {"gate_delays": bins}}})
    assert refused.value.path == "telemetry.flows.f.gate_delays"


@pytest.mark.parametrize("bins", [[], [[LOWEST, 1], [HIGHEST, 7]], [(3, 2), (-3, 10**10 - 2)]])
def test_delays_are_taken_bin_by_bin(bins):
    row = {"gate_delays": bins, "gate_longest_s": 0.5}
    kept = telemetry_checked({"flows": {"f": row, "g": {"passed_per_s": 1.0}}})
    assert kept["flows"] == {
        "f": {"gate_delays": [list(each) for each in bins], "gate_longest_s": 0.5},
        "g": {"passed_per_s": 1.0},
    }
    assert telemetry_checked(kept) == kept


def test_more_delays_than_an_agent_can_have_counted_are_refused():
    flows = {name: {"gate_delays": [[3, 6 * 10**9]]} for name in ("f", "g")}
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked({"flows": flows})
    assert refused.value.path == "telemetry.flows"
    del flows["g"]
    assert telemetry_checked({"flows": flows})["flows"] == flows


@pytest.mark.parametrize("member", CLASS_DELAYS)
def test_delays_of_classes_are_taken_and_refused_as_those_of_flows(member):
    counts = {"skewed": 1, "pauses": 3, "paused_s": 0.5}
    classes = {"gold": {"admitted": 2, member: [[3, 2], [LOWEST, 1]], **counts}}
    assert telemetry_checked({"classes": classes})["classes"] == classes
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked({"classes": {"gold": {member: [[HIGHEST + 1, 1]]}}})
    assert refused.value.path == f"telemetry.classes.gold.{member}"
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked({"classes": {"gold": {m: [[3, 6 * 10**9]] for m in CLASS_DELAYS}}})
    assert refused.value.path == "telemetry.classes"


def test_a_profile_is_taken_with_the_ends_that_are_known():
    profile = {
        "profile_s": 600.0,
        "profile_messages": 60_000,
        "profile_mean_s": 0.01,
        "profile_mean_low_s": 0.008,
        "profile_mean_high_s": 0.012,
        "profile_independent": 2_500.0,
        "profile_p99_s": 0.2,
        "profile_p99_low_s": 0.1,
        "profile_p99_high_s": 0.3,
        "profile_own_p99_s": 0.02,
        "profile_own_p99_low_s": 0.0,
    }
    row = {**profile, "profile_of_a_newer_agent": 1}
    assert telemetry_checked({"flows": {"f": row}})["flows"]["f"] == profile
    with pytest.raises(InvalidProblem) as refused:
        telemetry_checked({"flows": {"f": {**profile, "profile_p99_high_s": None}}})
    assert refused.value.path == "telemetry.flows.f.profile_p99_high_s"
