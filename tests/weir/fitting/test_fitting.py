"""Resource models out of measurements: the fit, its intervals, and what the paper saw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.fitting import Case, CaseFit, Coefficient, Kind, Term, fit_case, fit_sizes

BEST_EFFORT = (0.00146092, 0.00103146)
RELIABLE = (0.0148354, 0.00113717)
REQUEST_RESPONSE = 0.1347943
NOISE = 0.5
"""Standard deviation of a measured utilisation, percent of the server."""

some = settings(deadline=None, max_examples=60)


def campaign(
    rates: list[float],
    populations: list[int],
    truth: tuple[float, float],
    rng: np.random.Generator,
    *,
    noise: float = NOISE,
    idle: bool = False,
) -> Case:
    """One flow with one class, measured once per (rate, population); capacity 100 percent."""
    r = np.array(rates, dtype=np.float64)
    n = np.array(populations, dtype=np.float64)
    loads = truth[0] * r + truth[1] * r * n + rng.normal(0.0, noise, len(r))
    flow = Term(kind=Kind.FLOW, name="f", flow="f", rate_min_per_s=10, rate_max_per_s=200)
    consumers = Term(kind=Kind.CLASS, name="c", flow="f", population_max=400)
    terms = (flow, consumers)
    design = np.column_stack([r, r * n])
    if idle:
        terms = (Term(kind=Kind.IDLE), *terms)
        design = np.column_stack([np.ones(len(r)), design])
    return Case(
        broker="S0", resource="cpu", capacity=100.0, terms=terms, loads=loads, design=design
    )


def of(fit: CaseFit, kind: Kind, name: str = "") -> Coefficient:
    return next(c for c in fit.coefficients if c.term.kind is kind and c.term.name == name)


BALANCED = ([200, 200, 200, 150, 100, 50, 10, 10], [1, 100, 300, 200, 400, 300, 400, 200])
HIGH_ONLY = ([200, 195, 190, 185, 180, 200, 190, 180], [1, 2, 3, 1, 2, 3, 2, 1])
LOW_ONLY = ([10, 12, 14, 16, 18, 20, 10, 20], [1, 50, 100, 200, 300, 400, 400, 10])


@pytest.mark.parametrize("truth", [BEST_EFFORT, RELIABLE])
def test_noiseless_measurements_give_the_papers_constants(truth: tuple[float, float]) -> None:
    case = campaign(*BALANCED, truth, np.random.default_rng(1), noise=0.0, idle=True)
    fit = fit_case(case)
    assert of(fit, Kind.FLOW, "f").value == pytest.approx(truth[0], rel=1e-9)
    assert of(fit, Kind.CLASS, "c").value == pytest.approx(truth[1], rel=1e-9)
    assert of(fit, Kind.IDLE).value == pytest.approx(0.0, abs=1e-9)
    assert fit.r_squared == pytest.approx(1.0)


def test_request_response_flow_is_one_coefficient() -> None:
    rates = np.linspace(33.3, 203.7, 12)
    rng = np.random.default_rng(2)
    case = Case(
        broker="S0",
        resource="cpu",
        capacity=100.0,
        terms=(Term(kind=Kind.FLOW, name="rr", flow="rr", rate_max_per_s=203.7),),
        loads=REQUEST_RESPONSE * rates + rng.normal(0.0, NOISE, len(rates)),
        design=rates[:, None],
    )
    fit = fit_case(case)
    assert fit.coefficients[0].value == pytest.approx(REQUEST_RESPONSE, rel=0.02)
    assert fit.coefficients[0].identified


def test_high_rates_alone_give_a_class_cost_several_times_too_large() -> None:
    """Section III.A: "fitting only using tests with high rate caused B_j to be six times"."""
    worst_high, worst_balanced = 0.0, 0.0
    wrong = trusted = covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        high = of(fit_case(campaign(*HIGH_ONLY, BEST_EFFORT, rng)), Kind.CLASS, "c")
        balanced = of(fit_case(campaign(*BALANCED, BEST_EFFORT, rng)), Kind.CLASS, "c")
        trusted += high.identified
        covered += high.low <= BEST_EFFORT[1] <= (high.high or np.inf)
        worst_high = max(worst_high, high.value / BEST_EFFORT[1])
        worst_balanced = max(worst_balanced, abs(balanced.value / BEST_EFFORT[1] - 1))
        wrong += high.value > 1.5 * BEST_EFFORT[1]
    # Chance decides how far off a campaign is; the intervals say that it cannot be trusted.
    assert trusted <= 2
    assert covered >= 95
    assert wrong >= 15
    assert worst_high > 2
    assert worst_balanced < 0.05


def test_noise_of_a_loaded_server_makes_it_six_times() -> None:
    ratios = [
        of(
            fit_case(campaign(*HIGH_ONLY, BEST_EFFORT, np.random.default_rng(seed), noise=3.0)),
            Kind.CLASS,
            "c",
        ).value
        / BEST_EFFORT[1]
        for seed in range(100)
    ]
    assert max(ratios) > 6


def test_low_rates_alone_give_a_negative_flow_cost_without_the_bound() -> None:
    """Section III.A: "only using tests with low rate caused the A_i value to be negative"."""
    negative = 0
    for seed in range(100):
        case = campaign(*LOW_ONLY, BEST_EFFORT, np.random.default_rng(seed))
        free, *_ = np.linalg.lstsq(case.design, case.loads, rcond=None)
        flow = of(fit_case(case), Kind.FLOW, "f")
        assert flow.value >= 0
        assert not flow.identified
        if free[0] < 0:
            negative += 1
            assert flow.value == 0
            assert flow.low == 0
            assert flow.high is not None
            assert flow.high > 0
    assert 25 <= negative <= 75


def test_one_operating_point_cannot_tell_the_coefficients_apart() -> None:
    case = campaign([100.0] * 20, [50] * 20, RELIABLE, np.random.default_rng(3))
    fit = fit_case(case)
    assert fit.condition is None
    for coefficient in fit.coefficients:
        assert coefficient.vif is None
        assert coefficient.high is None
        assert not coefficient.identified


def test_constant_population_cannot_tell_flow_from_consumers_at_any_rate() -> None:
    rates = list(np.linspace(10, 200, 30))
    fit = fit_case(campaign(rates, [50] * 30, RELIABLE, np.random.default_rng(4)))
    assert all(c.vif is None and not c.identified for c in fit.coefficients)


def test_flow_that_carried_nothing_is_left_out() -> None:
    case = campaign([0.0] * 10, [5] * 10, RELIABLE, np.random.default_rng(5), idle=True)
    fit = fit_case(case)
    assert of(fit, Kind.FLOW, "f").value == 0
    assert of(fit, Kind.FLOW, "f").high is None
    assert of(fit, Kind.IDLE).identified


@pytest.mark.parametrize("points", [0, 1, 2, 4])
def test_too_few_points_give_no_interval(points: int) -> None:
    rates, people = [50.0, 100.0, 150.0, 200.0][:points], [1, 9, 4, 7][:points]
    fit = fit_case(campaign(rates, people, RELIABLE, np.random.default_rng(6), idle=True))
    assert not fit.enough
    assert all(c.high is None for c in fit.coefficients)


@pytest.mark.parametrize("proportional", [False, True])
def test_intervals_cover_the_truth_as_often_as_they_say(proportional: bool) -> None:
    rng = np.random.default_rng(7)
    rates = np.repeat([10.0, 50.0, 100.0, 200.0], 15)
    people = np.tile([1.0, 40.0, 80.0], 20)
    truth = np.array([2.0, *RELIABLE])
    design = np.column_stack([np.ones(60), rates, rates * people])
    terms = (
        Term(kind=Kind.IDLE),
        Term(kind=Kind.FLOW, name="f", flow="f", rate_max_per_s=200),
        Term(kind=Kind.CLASS, name="c", flow="f", population_max=80),
    )
    hits = np.zeros(3)
    campaigns = 400
    for _ in range(campaigns):
        mean = design @ truth
        sd = 0.05 * mean if proportional else np.full(60, NOISE)
        loads = mean + rng.normal(0.0, sd)
        fit = fit_case(
            Case(broker="S0", resource="cpu", capacity=100, terms=terms, loads=loads, design=design)
        )
        for index, coefficient in enumerate(fit.coefficients):
            assert coefficient.high is not None
            hits[index] += coefficient.low <= truth[index] <= coefficient.high
    # 95 % within three standard errors of 400 campaigns, and no less than 91 %.
    assert np.all(hits / campaigns >= 0.91)
    assert np.all(hits[1:] / campaigns <= 0.99)


def test_flows_that_move_together_are_not_mistaken_for_one() -> None:
    """The bound gives one flow the work of all; the interval must not call that certain."""
    rng = np.random.default_rng(9)
    flows, points, campaigns = 6, 40, 60
    truth = np.full(flows, 0.02)
    terms = tuple(Term(kind=Kind.FLOW, name=f"f{i}", flow=f"f{i}") for i in range(flows))
    held = mistaken = 0
    for _ in range(campaigns):
        common, own = rng.uniform(50, 150, (points, 1)), rng.uniform(50, 150, (points, flows))
        design = 0.97 * common + 0.03 * own
        loads = design @ truth + rng.normal(0.0, 3.0, points)
        fit = fit_case(
            Case(broker="b", resource="cpu", capacity=100, terms=terms, loads=loads, design=design)
        )
        for coefficient in fit.coefficients:
            assert coefficient.high is not None
            held += coefficient.low <= truth[0] <= coefficient.high
            mistaken += coefficient.identified
    assert held / (campaigns * flows) >= 0.93
    assert mistaken <= 0.02 * campaigns * flows


@st.composite
def cases(draw: st.DrawFn) -> Case:
    points, flows = draw(st.integers(0, 12)), draw(st.integers(1, 3))
    scale = 10.0 ** draw(st.integers(-6, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rates = rng.choice([0.0, 1.0, 10.0, 200.0], (points, flows))
    people = rng.choice([0.0, 1.0, 400.0], (points, flows))
    terms = [Term(kind=Kind.IDLE)]
    columns = [np.ones(points)]
    for i in range(flows):
        terms += [
            Term(kind=Kind.FLOW, name=f"f{i}", flow=f"f{i}", rate_max_per_s=200),
            Term(kind=Kind.CLASS, name=f"c{i}", flow=f"f{i}", population_max=400),
        ]
        columns += [rates[:, i], rates[:, i] * people[:, i]]
    return Case(
        broker="b",
        resource="cpu",
        capacity=scale,
        terms=tuple(terms),
        loads=scale * rng.choice([0.0, 0.2, 1.0], points),
        design=np.column_stack(columns),
    )


@some
@given(cases())
def test_any_measurements_give_a_sound_fit(case: Case) -> None:
    fit = fit_case(case)
    assert len(fit.coefficients) == len(case.terms)
    for coefficient in fit.coefficients:
        assert coefficient.value >= 0
        assert np.isfinite(coefficient.value)
        assert 0 <= coefficient.low <= coefficient.value
        assert coefficient.high is None or coefficient.high >= coefficient.value
    free = np.array([c.value for c in fit.coefficients])
    np.testing.assert_allclose(fit.fitted, case.design @ free)


@some
@given(cases(), st.randoms(use_true_random=False))
def test_order_of_points_changes_nothing(case: Case, random: object) -> None:
    order = list(range(len(case.loads)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Case(
        broker=case.broker,
        resource=case.resource,
        capacity=case.capacity,
        terms=case.terms,
        loads=case.loads[order],
        design=case.design[order],
    )
    one, two = fit_case(case), fit_case(shuffled)
    room = 1e-6 * case.capacity + 1e-12
    np.testing.assert_allclose(np.sort(one.fitted), np.sort(two.fitted), atol=room, rtol=1e-6)


@some
@given(cases())
def test_no_other_coefficients_fit_better(case: Case) -> None:
    fit = fit_case(case)
    values = np.array([c.value for c in fit.coefficients])
    best = float(np.sum((case.loads - fit.fitted) ** 2))
    # The optimum of a convex problem: no small feasible move along an axis improves.
    gradient = case.design.T @ (case.design @ values - case.loads)
    size = np.sqrt(np.einsum("ij,ij->j", case.design, case.design))
    room = 1e-7 * max(case.capacity, best**0.5) * np.maximum(size, 1e-300) + 1e-9
    assert np.all(gradient >= -room)
    assert np.all(np.abs(gradient[values > 0]) <= room[values > 0])


def test_message_sizes_are_weighted_by_messages() -> None:
    term = Term(kind=Kind.FLOW, name="f", flow="f")
    fit = fit_sizes(term, size_bytes=[100, 400, 7], messages=[300, 100, 0])
    assert fit.value == pytest.approx((300 * 100 + 100 * 400) / 400)
    assert fit.high is not None
    nothing = fit_sizes(term, size_bytes=[], messages=[])
    assert not nothing.identified
    assert nothing.high is None


def test_size_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(8)
    term = Term(kind=Kind.FLOW, name="f", flow="f")
    hits = 0
    for _ in range(300):
        counts = rng.integers(50, 400, 30)
        sizes = np.array([rng.exponential(800.0, n).mean() for n in counts])
        fit = fit_sizes(term, size_bytes=sizes, messages=counts)
        assert fit.high is not None
        hits += fit.low <= 800 <= fit.high
    assert hits >= 0.9 * 300
