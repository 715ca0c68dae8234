"""What a policy asks of a plan. No database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.policies.domain.rules import (
    approval_expires_at,
    approvals_needed,
    auto_approves,
    below_enactment_threshold,
    execution_bounds,
)
from apps.policies.domain.terms import ApprovalRule, Terms
from weir.model.plan import Action, Plan, Source, Step


def touches(brokers: int, total: int = 6) -> dict[str, Any]:
    return {"brokers": brokers, "brokers_total": total}


TWO_EYES = Terms(
    approval_rules=(
        ApprovalRule(),
        ApprovalRule(min_share=0.5, approvals=2),
        ApprovalRule(kind="overlay", min_brokers=3, approvals=3),
    )
)


def test_one_approval_is_the_default() -> None:
    assert approvals_needed(Terms(), "allocation", touches(6)) == (
        1,
        "Every plan needs one approval.",
    )


@pytest.mark.parametrize(
    ("kind", "brokers", "needed", "reason"),
    [
        ("allocation", 2, 1, "Every plan needs one approval."),
        (
            "allocation",
            3,
            2,
            "Every plan that touches at least 50 % of the brokers needs 2 approvals; "
            "this one touches 3 of 6.",
        ),
        ("overlay", 2, 1, "Every plan needs one approval."),
        (
            "overlay",
            3,
            3,
            "Every overlay plan that touches at least 3 brokers needs 3 approvals; "
            "this one touches 3 of 6.",
        ),
    ],
)
def test_the_strictest_rule_that_fits_decides(
    kind: str, brokers: int, needed: int, reason: str
) -> None:
    assert approvals_needed(TWO_EYES, kind, touches(brokers)) == (needed, reason)


def test_a_bound_that_every_plan_keeps_is_not_a_reason() -> None:
    terms = Terms(approval_rules=(ApprovalRule(min_brokers=1, approvals=2),))
    assert approvals_needed(terms, "allocation", touches(1)) == (2, "Every plan needs 2 approvals.")


def test_a_plan_that_no_rule_speaks_of_still_needs_one() -> None:
    terms = Terms(approval_rules=(ApprovalRule(kind="overlay", approvals=2),))
    needed, reason = approvals_needed(terms, "allocation", touches(1))
    assert needed == 1
    assert reason == "No rule speaks of this plan; one approval is the least."


rules = st.lists(
    st.builds(
        ApprovalRule,
        kind=st.sampled_from(["*", "allocation", "overlay"]),
        min_brokers=st.integers(0, 8),
        min_share=st.floats(0, 1),
        approvals=st.integers(1, 9),
    ),
    max_size=5,
)


@given(rules, st.integers(0, 7))
def test_touching_more_never_needs_fewer(drawn: list[ApprovalRule], brokers: int) -> None:
    terms = Terms(approval_rules=tuple(drawn))
    less, _ = approvals_needed(terms, "allocation", touches(brokers, 8))
    more, _ = approvals_needed(terms, "allocation", touches(brokers + 1, 8))
    assert 1 <= less <= more


def plan(*actions: Action) -> Plan:
    return Plan(
        kind="allocation",
        system="s",
        model_version=1,
        snapshot_hash="",
        source=Source(kind="allocation", id="", name=""),
        title="t",
        steps=(Step(actions=actions),),
    )


def rate(before: float | None, after: float | None, burst: float = 10) -> Action:
    def value(amount: float | None) -> dict[str, float] | None:
        return None if amount is None else {"rate_per_s": amount, "burst": burst}

    return Action(
        kind="set_flow_rate",
        target={"flow": "f", "broker": "b"},
        before=value(before),
        after=value(after),
    )


LENIENT = Terms(auto_approve_max_share=0.5, auto_approve_max_change=0.1)


def test_a_small_change_goes_without_a_person() -> None:
    reason = auto_approves(LENIENT, plan(rate(100, 110), rate(50, 45)), touches(3))
    assert reason == (
        "The policy approves by itself: it touches 50 % of the brokers (at most 50 %) and changes "
        "no value by more than 10.0 % (at most 10.0 %)."
    )


def order(window_s: float | None, *brokers: str) -> Action:
    values = {"period_s": 1.0, "least_share": 0.02, "brokers": list(brokers)}
    return Action(
        kind="adapt_parts",
        target={"flow": "f"},
        before={**values, "window_s": 10.0, "brokers": ["b", "c"]},
        after=None if window_s is None else {**values, "window_s": window_s},
    )


def listed(*publishers: str) -> Action:
    return Action(
        kind="assign_publishers",
        target={"flow": "f", "broker": "b"},
        before={"publishers": ["p", "q"]},
        after={"publishers": list(publishers)},
    )


@pytest.mark.parametrize(
    ("terms", "document", "brokers"),
    [
        # What an order moves later nobody approves, however little of it changes.
        (LENIENT, plan(order(10.1, "b", "c")), 1),
        (LENIENT, plan(order(10.0, "b")), 1),
        (LENIENT, plan(order(None)), 1),
        (LENIENT, plan(replace(order(10.0, "b"), before=None)), 1),
        (LENIENT, plan(listed("p")), 1),
        (Terms(auto_approve_max_change=1.0), plan(rate(100, 101)), 1),  # share 0: never
        (LENIENT, plan(rate(100, 101)), 4),
        (LENIENT, plan(rate(100, 111)), 1),
        (LENIENT, plan(rate(100, 89)), 1),
        (LENIENT, plan(rate(None, 100)), 1),
        (LENIENT, plan(rate(100, None)), 1),
        (LENIENT, plan(rate(0, 1)), 1),
        (
            Terms(auto_approve_max_share=1, auto_approve_max_change=1),
            plan(Action(kind="shift_link", target={"i": "a", "j": "b", "k": "c"})),
            1,
        ),
    ],
)
def test_everything_else_needs_a_person(terms: Terms, document: Plan, brokers: int) -> None:
    assert auto_approves(terms, document, touches(brokers)) is None


def test_a_system_without_brokers_is_never_a_small_share() -> None:
    assert auto_approves(LENIENT, plan(rate(100, 101)), touches(0, 0)) is None


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (100.0, 101.0, None),
        (0.0, 1.0, None),
        (
            1000.0,
            1004.0,
            "The utility would rise by 0.40 %, from 1,000 to 1,004; "
            "the policy enacts a gain of at least 1.00 %.",
        ),
        (
            1000.0,
            990.0,
            "The utility would fall by 1.00 %, from 1,000 to 990; "
            "the policy enacts a gain of at least 1.00 %.",
        ),
        (0.0, 0.0, "The utility would not rise."),
    ],
)
def test_what_is_not_worth_enacting(before: float, after: float, sentence: str | None) -> None:
    said = below_enactment_threshold(Terms(), utility_before=before, utility_after=after)
    assert said == sentence


@pytest.mark.parametrize("after", [1e6 + 1, 1e6, 0.9e6])
def test_without_a_threshold_everything_that_is_asked_for_is_planned(after: float) -> None:
    terms = Terms(enactment_threshold=0)
    assert below_enactment_threshold(terms, utility_before=1e6, utility_after=after) is None


def test_an_approval_expires_after_its_time() -> None:
    given_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert approval_expires_at(Terms(approval_ttl_s=3600), given_at) == datetime(
        2026, 3, 1, 13, tzinfo=UTC
    )


def flow(before: dict[str, float] | None, after: dict[str, float] | None) -> Action:
    return Action(
        kind="set_flow_rate", target={"flow": "f", "broker": "a"}, before=before, after=after
    )


def limit(before: int | None, after: int | None) -> Action:
    def value(number: int | None) -> dict[str, int] | None:
        return None if number is None else {"limit": number}

    return Action(
        kind="set_population",
        target={"class": "c", "broker": "a"},
        before=value(before),
        after=value(after),
    )


def of(*actions: Action) -> Plan:
    return Plan(
        kind="allocation",
        system="s",
        model_version=1,
        snapshot_hash="",
        source=Source(kind="allocation", id="", name="A-1"),
        title="t",
        why=(),
        steps=(Step(actions=actions),),
        promise=(),
    )


HALF = Terms(
    auto_execute_max_share=0.5,
    auto_execute_max_rate_change=0.25,
    auto_execute_max_consumers_change=0.5,
)


@pytest.mark.parametrize(
    ("actions", "brokers", "kept", "because"),
    [
        (
            [flow({"rate_per_s": 100.0, "burst": 8.0}, {"rate_per_s": 80.0, "burst": 6.0})],
            3,
            True,
            "It touches 50.0 % of the brokers (at most 50.0 %) and changes a rate or bucket by "
            "25.0 % (at most 25.0 %).",
        ),
        (
            # Up by a third is down by a quarter.
            [flow({"rate_per_s": 75.0}, {"rate_per_s": 100.0}), limit(4, 2)],
            1,
            True,
            "It touches 16.7 % of the brokers (at most 50.0 %), changes a rate or bucket by 25.0 % "
            "(at most 25.0 %) and changes a limit of consumers by 50.0 % (at most 50.0 %).",
        ),
        (
            [flow({"rate_per_s": 100.0}, {"rate_per_s": 70.0}), limit(0, 2)],
            4,
            False,
            "It touches 66.7 % of the brokers (at most 50.0 %), changes a rate or bucket by 30.0 % "
            "(at most 25.0 %) and changes a limit of consumers by 100.0 % (at most 50.0 %).",
        ),
        ([flow(None, {"rate_per_s": 1.0})], 1, False, "It sets a first limit, or lifts one."),
        ([limit(4, None)], 1, False, "It sets a first limit, or lifts one."),
        (
            [flow({"rate_per_s": float("inf")}, {"rate_per_s": 1.0})],
            1,
            False,
            "It sets a first limit, or lifts one.",
        ),
        (
            [Action(kind="shift_link", target={}, before={}, after={})],
            1,
            False,
            "It changes more than rates and limits of consumers.",
        ),
    ],
)
def test_bounds_of_what_weir_carries_out_by_itself(
    actions: list[Action], brokers: int, kept: bool, because: str
) -> None:
    bounds = execution_bounds(HALF, of(*actions), touches(brokers))
    assert (bounds.kept, bounds.because) == (kept, because)


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.floats(0, 1),
)
def test_a_plan_within_bounds_may_be_taken_back_within_them(
    old: float, new: float, least: int, most: int, bound: float
) -> None:
    terms = Terms(auto_execute_max_rate_change=bound, auto_execute_max_consumers_change=bound)
    there = of(flow({"rate_per_s": old}, {"rate_per_s": new}), limit(least, most))
    back = of(flow({"rate_per_s": new}, {"rate_per_s": old}), limit(most, least))
    one, other = (execution_bounds(terms, plan, touches(1)) for plan in (there, back))
    assert one == other
    assert execution_bounds(
        Terms(
            auto_execute_max_rate_change=1.0,
            auto_execute_max_consumers_change=1.0,
        ),
        there,
        touches(1),
    ).kept
