"""LRGP without a common clock, and answers from means: deterministic, feasible, close."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.suites import effort
from tests.weir.answers import assert_feasible
from tests.weir.kernel_strategies import extreme_problem_dicts, problems
from tests.weir.optimizers.test_lrgp import random_links
from tests.weir.optimizers.test_lrgp_paper import EXPECTED, LOG_WORKLOADS, WORKLOADS, problem
from weir.codec import problem_from_dict
from weir.codec.start import start_of
from weir.model import Problem, Result
from weir.optimizers import lrgp
from weir.stop import after_iterations, never

quick = settings(
    max_examples=effort(10, 100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
variants = st.fixed_dictionaries(
    {
        "asynchronous": st.booleans(),
        "max_delay": st.integers(0, 5),
        "max_period": st.integers(1, 5),
        "average": st.integers(0, 6),
    }
)


def solve(problem: Problem, *, seed: int = 0, **params: Any) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lrgp.solve(problem, lrgp.Params(**params), stop=never, seed=seed)


@cache
def answer(name: str, seed: int) -> Result:
    return solve(problem(name), seed=seed, asynchronous=True, max_iterations=500)


@quick
@given(problems(least=0.0), variants, st.integers(0, 2**31))
def test_every_variant_answers_feasibly(
    problem: Problem, variant: dict[str, Any], seed: int
) -> None:
    result = solve(problem, seed=seed, max_iterations=15, **variant)
    assert_feasible(problem, result)
    again = lrgp.solve(
        problem,
        lrgp.Params(max_iterations=15, **variant),
        stop=never,
        seed=seed,
        start=start_of(result),
    )
    assert_feasible(problem, again)


@quick
@given(extreme_problem_dicts(), variants)
def test_every_variant_bears_extreme_numbers(
    entries: dict[str, Any], variant: dict[str, Any]
) -> None:
    problem = problem_from_dict(entries)
    assert_feasible(problem, solve(problem, max_iterations=15, **variant))


@quick
@given(problems(least=0.0), variants, st.integers(0, 2**31))
def test_the_seed_alone_decides(problem: Problem, variant: dict[str, Any], seed: int) -> None:
    first = solve(problem, seed=seed, max_iterations=15, **variant)
    assert solve(problem, seed=seed, max_iterations=15, **variant) == first


def test_other_rhythms_take_another_way() -> None:
    traces = {answer("log-6-flows-3-nodes", seed).trace for seed in range(3)}
    assert len(traces) == 3


@pytest.mark.parametrize("name", WORKLOADS)
def test_without_delay_everybody_in_step_it_is_the_synchronous_algorithm(name: str) -> None:
    in_step = lrgp.Params(asynchronous=True, max_period=1, max_delay=0, average=1)

    def after(iterations: int, params: lrgp.Params) -> Result:
        return lrgp.solve(problem(name), params, stop=after_iterations(iterations), seed=5)

    ours, plain = after(15, in_step), after(15, lrgp.Params())
    assert ours.link_prices == plain.link_prices
    for node, prices in plain.node_prices.items():
        assert ours.node_prices[node] == pytest.approx(prices, rel=1e-9)
    # Sums in another order may tip a whole consumer; that is all.
    assert after(60, in_step).utility == pytest.approx(after(60, lrgp.Params()).utility, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["log-6-flows-3-nodes", "log-24-flows-12-nodes", "power-0.5"])
def test_late_news_cost_little(name: str, seed: int) -> None:
    optimum = EXPECTED[name]["integral_optimum"]
    assert 0.997 * optimum <= answer(name, seed).utility <= optimum + 0.01 * 8


@pytest.mark.parametrize("seed", range(2))
def test_link_prices_arrive_late_too(seed: int) -> None:
    network = random_links(seed, None, 1.0)
    together = solve(network)
    apart = solve(network, seed=seed, asynchronous=True, max_iterations=600)
    assert apart.utility >= 0.98 * together.utility


@pytest.mark.parametrize("name", LOG_WORKLOADS)
def test_means_of_the_last_rates_and_prices_do_no_harm(name: str) -> None:
    optimum = EXPECTED[name]["integral_optimum"]
    assert solve(problem(name), average=5).utility >= optimum * (1 - 1e-4)


def test_prices_are_means_of_the_last_iterations() -> None:
    name = "log-6-flows-3-nodes"
    last = [
        lrgp.solve(problem(name), lrgp.Params(), stop=after_iterations(end), seed=0)
        for end in (8, 9, 10)
    ]
    mean = lrgp.solve(problem(name), lrgp.Params(average=3), stop=after_iterations(10), seed=0)
    for node in ("S0", "S1", "S2"):
        expected = sum(one.node_prices[node]["cpu"] for one in last) / 3
        assert mean.node_prices[node]["cpu"] == pytest.approx(expected, rel=1e-12)
