"""Which operating points are missing: named with rates and populations, and worth measuring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from tests.weir.fitting.test_fitting import (
    BALANCED,
    BEST_EFFORT,
    HIGH_ONLY,
    LOW_ONLY,
    RELIABLE,
    campaign,
    cases,
)
from weir.fitting import Case, Kind, MissingPoint, fit_case, missing_points


def advice(case: Case) -> tuple[MissingPoint, ...]:
    return missing_points(case, fit_case(case))


def test_balanced_campaign_lacks_nothing() -> None:
    case = campaign(*BALANCED, RELIABLE, np.random.default_rng(1), noise=0.05)
    assert advice(case) == ()


def test_high_rates_alone_lack_many_consumers() -> None:
    case = campaign(*HIGH_ONLY, BEST_EFFORT, np.random.default_rng(2))
    about_class = next(p for p in advice(case) if ("class", "c") in p.tells)
    assert about_class.flow == "f"
    assert about_class.consumer_class == "c"
    assert about_class.consumers > 100
    assert "consumers of c" in about_class.sentence


def test_low_rates_alone_lack_a_high_rate_with_few_consumers() -> None:
    case = campaign(*LOW_ONLY, BEST_EFFORT, np.random.default_rng(3))
    about_flow = next(p for p in advice(case) if ("flow", "f") in p.tells)
    assert about_flow.rate_per_s == 200
    assert about_flow.consumers == 1
    assert "a high rate (200 msg/s) with few consumers" in about_flow.sentence


def test_advice_stays_within_what_the_broker_carries() -> None:
    heavy = (0.0148354, 0.05)
    case = campaign([10.0] * 9, [1] * 9, heavy, np.random.default_rng(4))
    case = replace(case, terms=tuple(replace(t, old=v) for t, v in zip(case.terms, heavy)))  # noqa: B905
    for point in advice(case):
        load = heavy[0] * point.rate_per_s + heavy[1] * point.rate_per_s * point.consumers
        assert load <= 0.96 * case.capacity


def test_a_model_that_is_far_too_high_does_not_silence_the_advice() -> None:
    """By the costs in the model the broker is overloaded ten times; in fact it is nearly idle."""
    case = campaign([100.0] * 12, [5] * 12, BEST_EFFORT, np.random.default_rng(6), noise=0.05)
    case = replace(case, terms=tuple(replace(term, old=2.0) for term in case.terms))
    told = {term for point in advice(case) for term in point.tells}
    assert told == {("flow", "f"), ("class", "c")}


@pytest.mark.parametrize("start", [HIGH_ONLY, LOW_ONLY, ([100.0] * 12, [50] * 12)])
def test_following_the_advice_identifies_everything(start: tuple[list[float], list[int]]) -> None:
    rng = np.random.default_rng(5)
    rates, people = list(start[0]), list(start[1])
    for _ in range(6):
        case = campaign(rates, people, RELIABLE, rng)
        missing = advice(case)
        if not missing:
            break
        for point in missing:  # ten windows each
            rates += [point.rate_per_s] * 10
            people += [point.consumers] * 10
    assert missing == ()
    fit = fit_case(case)
    for coefficient, truth in zip(fit.coefficients, RELIABLE, strict=True):
        assert coefficient.value == pytest.approx(truth, rel=0.35)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_every_open_coefficient_gets_a_point_or_has_none(case: Case) -> None:
    fit = fit_case(case)
    told = {term for point in missing_points(case, fit) for term in point.tells}
    known = {(c.term.kind.value, c.term.name) for c in fit.coefficients if c.identified}
    assert not told & known
    for point in missing_points(case, fit):
        assert 0 < point.rate_per_s <= 200
        assert 0 <= point.consumers <= 400
        assert point.sentence.endswith(".")
    assert all(kind != Kind.IDLE for kind, _ in told)
