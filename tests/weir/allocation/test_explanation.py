"""Why a class was admitted or refused: against the published workload, by hand, and always."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.factories.runs import golden_problem
from tests.weir.kernel_strategies import utilities
from weir.allocation.explanation import MARGIN, Verdict, explain, scale_name
from weir.codec import problem_from_dict
from weir.model import ConsumerClass, Flow
from weir.utility import utility_from_dict

PRICES = {"S0": 0.0440, "S1": 0.2953, "S2": 0.1262}
RATES = {"f0": 10.0, "f1": 16.88, "f2": 10.06, "f3": 17.67, "f4": 11.41, "f5": 23.97}


def a_class(utility, costs, wanted=100, rate_min=0.0, rate_max=1000.0):
    flow = Flow(id="f", rate_min=rate_min, rate_max=rate_max, node_costs={}, link_costs={})
    consumers = ConsumerClass(
        id="c",
        flow="f",
        node="n",
        population_max=wanted,
        costs=costs,
        utility=utility_from_dict(utility),
    )
    return consumers, flow


def of_workload(name, admitted):
    problem = problem_from_dict(golden_problem())
    consumers = next(row for row in problem.classes if row.id == name)
    flow = next(row for row in problem.flows if row.id == consumers.flow)
    return explain(
        consumers,
        flow,
        rate_per_s=RATES[flow.id],
        admitted=admitted,
        prices={"cpu": PRICES[consumers.node]},
        room={"cpu": 0.0},
    )


def test_refused_class_of_the_published_workload_costs_more_than_it_brings():
    why = of_workload("c8", 0)
    assert (why.flow, why.node, why.verdict) == ("f2", "S1", Verdict.COSTS_MORE)
    assert why.value == pytest.approx(24.03, abs=0.005)
    assert why.price == pytest.approx(56.44, abs=0.01)
    (need,) = why.needs
    assert need.units_per_s == pytest.approx(191.1, abs=0.05)
    assert need.price_at_margin == pytest.approx(0.1257, abs=5e-5)
    assert why.scale_name == "weight"
    assert why.scale_at_margin == pytest.approx(23.5, abs=0.02)
    assert why.binding == "cpu"
    assert why.given_up == 0


def test_class_at_the_margin_and_class_that_is_all_in():
    assert of_workload("c9", 34).verdict == Verdict.MARGIN
    all_in = of_workload("c16", 1000)
    assert all_in.verdict == Verdict.PAYS
    assert all_in.value / all_in.price == pytest.approx(10.57, abs=0.02)


def test_several_resources_name_the_one_that_binds():
    consumers, flow = a_class({"kind": "linear", "weight": 3.0}, {"cpu": 1.0, "io": 2.0})
    why = explain(
        consumers,
        flow,
        rate_per_s=10.0,
        admitted=0,
        prices={"cpu": 1.5, "io": 4.0},
        room={"cpu": 100.0, "io": 5.0},
    )
    assert (why.value, why.price, why.binding, why.fits) == (30.0, 95.0, "io", False)
    at = {need.resource: need.price_at_margin for need in why.needs}
    assert at["io"] == pytest.approx(0.75)
    assert at["cpu"] is None  # even free CPU would leave io too dear


@pytest.mark.parametrize(
    ("value", "admitted", "price", "verdict"),
    [
        (1.0, 0, 2.0, Verdict.COSTS_MORE),
        (1.0, 3, 2.0, Verdict.AGAINST),
        (2.0, 3, 1.0, Verdict.AGAINST),
        (2.0, 0, 0.0, Verdict.AGAINST),
        (2.0, 100, 0.0, Verdict.FREE),
        (2.0, 100, 1.0, Verdict.PAYS),
        (2.0, 50, 2.0 * (1 + MARGIN / 2), Verdict.MARGIN),
        (0.0, 0, 0.0, Verdict.WORTHLESS),
    ],
)
def test_verdicts(value, admitted, price, verdict):
    consumers, flow = a_class({"kind": "linear", "weight": value}, {"cpu": 1.0})
    why = explain(
        consumers,
        flow,
        rate_per_s=1.0,
        admitted=admitted,
        prices={"cpu": price},
        room={"cpu": 0.0},
    )
    assert why.verdict == verdict
    owed = 100 * max(0.0, value - price) - admitted * (value - price)
    assert why.given_up == pytest.approx(max(0.0, owed))


def test_nobody_wants_in():
    consumers, flow = a_class({"kind": "log", "weight": 1.0}, {"cpu": 1.0}, wanted=0)
    why = explain(consumers, flow, rate_per_s=1.0, admitted=0, prices={}, room={})
    assert why.verdict == Verdict.NOBODY


def test_a_lower_rate_would_admit_where_worth_grows_slower_than_cost():
    consumers, flow = a_class({"kind": "log", "weight": 10.0}, {"cpu": 2.0}, rate_min=1.0)
    why = explain(
        consumers, flow, rate_per_s=50.0, admitted=0, prices={"cpu": 1.0}, room={"cpu": 0.0}
    )
    rate = why.rate_at_margin_per_s
    assert rate is not None
    assert 10 * math.log1p(rate) == pytest.approx(2 * rate)
    assert 1.0 < rate < 50.0


@pytest.mark.parametrize(
    ("utility", "name"),
    [
        ({"kind": "log", "weight": 1.0}, "weight"),
        ({"kind": "power", "weight": 0.5, "exponent": 0.5}, "weight"),
        ({"kind": "linear", "weight": 0.0}, "weight"),
        ({"kind": "piecewise", "points": [[0, 0], [1, 1]]}, None),
        (
            {
                "kind": "latency",
                "max_utility": 20.0,
                "threshold_s": 0.5,
                "senders": 20,
                "think_s": 0.1,
                "exec_s": 0.008,
            },
            "max_utility",
        ),
    ],
)
def test_names_the_parameter_that_scales_the_worth(utility, name):
    assert scale_name(utility_from_dict(utility)) == name


@settings(max_examples=150)
@given(
    utility=utilities,
    cost=st.sampled_from([0.1, 1.0, 19.0]),
    price=st.sampled_from([0.0, 1e-3, 0.3, 40.0]),
    rate=st.floats(0.0, 1000.0),
    admitted=st.integers(0, 100),
)
@example({"kind": "piecewise", "points": [[0.0, 1.0]]}, 0.1, 0.0, 2.225073858507e-311, 0)
def test_the_verdict_turns_where_it_is_said_to_turn(utility, cost, price, rate, admitted):
    consumers, flow = a_class(utility, {"cpu": cost})
    prices = {"cpu": price}
    why = explain(
        consumers, flow, rate_per_s=rate, admitted=admitted, prices=prices, room={"cpu": 0.0}
    )
    assert why.given_up >= 0
    assert why.price == pytest.approx(cost * price * rate)
    assert why.scale_at_margin is None or 0 < why.scale_at_margin < math.inf
    if why.verdict in (Verdict.PAYS, Verdict.FREE):
        assert admitted == 100
    if why.verdict == Verdict.COSTS_MORE:
        assert admitted == 0
        assert why.value < why.price
    turn = why.rate_at_margin_per_s
    if turn is not None:
        assert 0 <= turn <= 1000
        excess = float(consumers.utility.value(turn)) - cost * price * turn
        assert excess == pytest.approx(0, abs=1e-6 * (1 + cost * price * turn + abs(why.value)))
        # Between here and there nothing turns: the verdict is the same all the way.
        middle = 0.5 * (rate + turn)
        between = float(consumers.utility.value(middle)) - cost * price * middle
        assert between * (why.value - why.price) >= -1e-6 * (1 + abs(why.value))
    for need in why.needs:
        if need.price_at_margin is not None:
            assert cost * rate * need.price_at_margin == pytest.approx(why.value, abs=1e-6)
