"""What agents may send; no database needed."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from apps.executions.api import messages
from weir.errors import InvalidProblem

ACTION = str(UUID(int=7))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def report(**members: Any) -> dict[str, Any]:
    return {"reports": [{"action": ACTION, "attempt": 1, "phase": "ready", **members}]}


@pytest.mark.parametrize(
    ("read", "plain", "field"),
    [
        (messages.reports, {"reports": {}}, "reports"),
        (messages.reports, {"reports": [7]}, "reports[0]"),
        (messages.reports, {"reports": [{"phase": "ready"}]}, "reports[0].action"),
        (messages.reports, report(action="x"), "reports[0].action"),
        (messages.reports, report(attempt="1"), "reports[0].attempt"),
        (messages.reports, report(attempt=-1), "reports[0].attempt"),
        (messages.reports, report(phase="perhaps"), "reports[0].phase"),
        (messages.reports, report(interest="tides"), "reports[0].interest"),
        (messages.reports, report(interest=["a", 1]), "reports[0].interest[1]"),
        (messages.reports, report(pause_s=float("nan")), "reports[0].pause_s"),
        (messages.reports, report(detail="\x00"), "reports[0].detail"),
        (messages.observed, {"observed": []}, "observed"),
        (messages.observed, {"observed": {"gates": []}}, "observed.gates"),
        (
            messages.observed,
            {"observed": {"buckets": {"f": {"rate_per_s": 1}}}},
            "observed.buckets.f.size",
        ),
        (messages.observed, {"observed": {"gates": {"f": 1}}}, "observed.gates.f"),
        (
            messages.observed,
            {"observed": {"gates": {"f": {"rate_per_s": "x", "burst": 1}}}},
            "observed.gates.f.rate_per_s",
        ),
        (
            messages.observed,
            {"observed": {"gates": {"f": {"rate_per_s": 1}}}},
            "observed.gates.f.burst",
        ),
        (messages.observed, {"observed": {"limits": {"c": "many"}}}, "observed.limits.c"),
        (messages.observed, {"observed": {"waiting": {"c": 1.5}}}, "observed.waiting.c"),
        (messages.observed, {"observed": {"links": "b"}}, "observed.links"),
        (messages.observed, {"observed": {"problems": ["\ud800"]}}, "observed.problems[0]"),
        (messages.introduction, {"address": 5}, "address"),
        (messages.introduction, {"facts": []}, "facts"),
        (messages.introduction, {"facts": {"a": "\x00"}}, "facts"),
        (messages.introduction, {"facts": {"a": float("inf")}}, "facts"),
        (messages.introduction, {"agent_version": "1" * 65}, "agent_version"),
    ],
)
def test_the_error_names_the_member(read, plain, field):
    with pytest.raises(InvalidProblem) as refused:
        read(plain)
    assert refused.value.path == field


@given(
    plain=st.dictionaries(st.sampled_from(["reports", "observed", "facts", "address"]), ANYTHING)
)
def test_whatever_is_sent_is_taken_or_refused_by_name(plain):
    for read in (messages.reports, messages.observed, messages.introduction):
        assert path_of_refusal(read, plain) != ""


def path_of_refusal(read, plain) -> str | None:
    try:
        read(plain)
    except InvalidProblem as refused:
        return refused.path
    return None


@given(
    members=st.dictionaries(
        st.sampled_from(["buckets", "gates", "limits", "links", "publishers", "version"]), ANYTHING
    )
)
def test_what_is_taken_of_an_observation_can_be_stored(members):
    try:
        kept = messages.observed({"observed": members})
    except InvalidProblem:
        return
    text = json.dumps(kept, allow_nan=False)
    assert "\\u0000" not in text


def test_members_of_newer_agents_are_left_out():
    (said,) = messages.reports(report(tomorrow=1, interest=["tides"], pause_s=0.5))
    assert (said.interest, said.pause_s) == (("tides",), 0.5)
    kept = messages.observed({"observed": {"tomorrow": 1, "links": ["b"]}})
    assert kept is not None
    assert kept["links"] == ["b"]
    assert "tomorrow" not in kept


def test_nothing_said_is_nothing():
    assert messages.reports({}) == ()
    assert messages.observed({"observed": None}) is None


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "²", None, True, 2**31, "9" * 400])
def test_an_incarnation_is_a_whole_number(text):
    with pytest.raises(InvalidProblem) as refused:
        messages.incarnation(text)
    assert refused.value.path == "incarnation"


def test_the_body_is_an_object():
    request = RequestFactory().post("/", b'{"a": 1}', content_type="application/json")
    assert messages.body(request) == {"a": 1}
