"""The certified optimizer: gap, iterations, warm start, and the bound against other maxima."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.weir.kernel_strategies import utilities
from tests.weir.optimizers.certified_instances import random_problem
from tests.weir.optimizers.exhaustive import brute_force
from weir.allocation.arrays import to_arrays
from weir.allocation.layout import blocks, capacities, layout, part
from weir.allocation.shapes import rate_where, slope_at, value_at
from weir.codec import problem_from_dict, problem_from_json
from weir.model import Problem, Result, Start
from weir.optimizers import certified
from weir.optimizers.certified.dual import LocalDual, answer, combined, largest_flow
from weir.optimizers.certified.search import Search
from weir.stop import after_iterations, never
from weir.utility import utility_from_dict

FOLDER = Path(__file__).parents[2] / "golden" / "lrgp"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
PRICES_ONLY = certified.Params(max_iterations=300, exact_rounds=0, polish_steps=0)
CASES = [(0, 1), (30, 2), (0, 3), (60, 4)]
"""Links and seed."""


@cache
def instance(links: int, seed: int) -> Problem:
    kinds = ("log", "power") if seed > 2 else ("log",)
    return random_problem(flows=1000, links=links, seed=seed, kinds=kinds)


@cache
def answered(links: int, seed: int) -> Result:
    params = certified.Params(polish_steps=5)
    return certified.solve(instance(links, seed), params, stop=never, seed=0)


@pytest.mark.parametrize(("links", "seed"), CASES)
def test_gap_of_a_thousand_flows_is_below_a_ten_thousandth(links: int, seed: int) -> None:
    result = answered(links, seed)
    assert result.upper_bound is not None
    assert result.upper_bound - result.utility <= 1e-4 * result.upper_bound
    assert result.status == "solved"


@pytest.mark.parametrize(("links", "seed"), CASES)
def test_bound_is_near_its_last_value_soon(links: int, seed: int) -> None:
    search = Search(to_arrays(instance(links, seed)), None, 1)
    bounds = []
    for _ in range(150):
        search.descend(with_primal=False)
        bounds.append(search.bound)
    assert bounds[11] <= bounds[-1] * (1 + 1e-3)
    assert bounds[24] <= bounds[-1] * (1 + 1e-5)


@pytest.mark.parametrize(
    ("kinds", "links", "seed"),
    [
        (("log",), 30, 11),
        (("power",), 60, 12),
        (("linear",), 30, 13),
        (("piecewise",), 30, 14),
        (("log", "power", "linear", "piecewise"), 30, 15),
    ],
)
def test_cutting_planes_close_the_gap_whatever_the_utilities(
    kinds: tuple[str, ...], links: int, seed: int
) -> None:
    """Straight utilities and scarce links: rates jump, only a mixture of them fits."""
    problem = random_problem(flows=1000, links=links, seed=seed, kinds=kinds)
    result = certified.solve(problem, certified.Params(polish_steps=0), stop=never, seed=0)
    assert result.upper_bound is not None
    assert result.upper_bound - result.utility <= 1e-4 * result.upper_bound
    # at most 12 iterations to 1e-3 of the least dual, which the cutting planes have found
    assert result.bounds[11] <= result.bounds[-1] * (1 + 1e-3)


@pytest.mark.parametrize(("links", "seed"), CASES[:2])
def test_start_after_a_change_is_near_the_new_optimum_in_15_iterations(
    links: int, seed: int
) -> None:
    chance = random.Random(seed)
    problem = instance(links, seed)
    changed = replace(
        problem,
        classes=tuple(
            replace(c, population_max=int(c.population_max * chance.uniform(0, 2)))
            if chance.random() < 0.01
            else c
            for c in problem.classes
        ),
    )
    former = answered(links, seed)
    start = Start(node_prices=former.node_prices, link_prices=former.link_prices)
    warm = certified.solve(changed, PRICES_ONLY, stop=after_iterations(15), seed=0, start=start)
    cold = certified.solve(changed, PRICES_ONLY, stop=never, seed=0)
    assert cold.upper_bound is not None
    assert warm.utility >= 0.999 * cold.upper_bound
    assert warm.trace[0] >= 0.99 * cold.upper_bound > cold.trace[0]


LOG_ROWS = [name for name in EXPECTED if name.startswith("log-")]


@pytest.mark.parametrize("name", ["log-6-flows-3-nodes", "log-6-flows-12-nodes", "power-0.25"])
def test_prices_alone_come_near_the_integral_optimum(name: str) -> None:
    problem = problem_from_json((FOLDER / f"{name}.json").read_bytes())
    params = certified.Params(polish_steps=0)
    result = certified.solve(problem, params, stop=never, seed=0)
    optimum = EXPECTED[name]["integral_optimum"]
    assert result.utility >= optimum * (0.99999 if name in LOG_ROWS else 0.9998)
    assert result.upper_bound is not None
    assert result.upper_bound >= optimum * (1 - 1e-8)
    if name in LOG_ROWS:  # no class is lumpy here: the bound is the optimum
        assert result.upper_bound <= optimum * (1 + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("log-6-flows-3-nodes", 0.999999),
        ("power-0.25", 0.99999),
        ("power-0.5", 0.9999),
        ("power-0.75", 0.9998),
    ],
)
def test_polished_answers_reach_the_integral_optimum(name: str, share: float) -> None:
    problem = problem_from_json((FOLDER / f"{name}.json").read_bytes())
    result = certified.solve(problem, certified.Params(polish_steps=60), stop=never, seed=0)
    assert result.utility >= share * EXPECTED[name]["integral_optimum"]


def test_cutting_planes_meet_the_bound_of_linear_utilities() -> None:
    problem = random_problem(flows=40, links=6, seed=3, kinds=("linear",))
    params = certified.Params(polish_steps=0)
    exact = certified.solve(problem, params, stop=never, seed=0)
    rough = certified.solve(problem, replace(params, exact_rounds=0), stop=never, seed=0)
    assert exact.upper_bound is not None
    assert exact.upper_bound <= rough.upper_bound
    assert exact.utility >= exact.upper_bound * (1 - 1e-4)


def test_first_iteration_has_an_answer_and_stop_is_asked_at_each() -> None:
    questions = []
    result = certified.solve(
        instance(30, 2),
        certified.Params(),
        stop=lambda progress: bool(questions.append(progress)) or progress.iteration >= 3,
        seed=0,
    )
    assert [progress.iteration for progress in questions] == [1, 2, 3]
    assert result.status == "time_limit"
    assert result.trace[0] > 0
    assert result.iterations == 3


def test_bound_holds_where_minimum_rates_use_the_tolerance() -> None:
    """Capacity a hair below the minimum load counts as feasible: no price may rise for ever."""
    entries = {
        "resources": ["cpu"],
        "nodes": [{"id": "n", "capacity": {"cpu": 100.0}}],
        "links": [{"id": "l", "capacity": 5.0 * (1 - 5e-10)}],
        "flows": [
            {
                "id": name,
                "rate_min": low,
                "rate_max": 50.0,
                "node_costs": {},
                "link_costs": links,
            }
            for name, low, links in (("held", 5.0, {"l": 1.0}), ("free", 1.0, {}))
        ],
        "classes": [
            {
                "id": f"c-{flow}",
                "flow": flow,
                "node": "n",
                "population_max": 3,
                "costs": {"cpu": 7.0},
                "utility": {"kind": "log", "weight": 1},
            }
            for flow in ("held", "free")
        ],
    }
    problem = problem_from_dict(entries)
    exact = replace(problem, links=(replace(problem.links[0], capacity=5.0),))
    best = brute_force(exact)
    result = certified.solve(problem, certified.Params(), stop=never, seed=0)
    assert result.upper_bound is not None
    assert result.utility >= best * (1 - 1e-8)
    assert result.upper_bound >= best * (1 - 1e-8)
    rough = certified.solve(problem, PRICES_ONLY, stop=never, seed=0)
    assert rough.upper_bound is not None
    assert rough.upper_bound >= best * (1 - 1e-8)


def test_zero_capacity_forbids_and_free_consumers_are_admitted() -> None:
    entries = {
        "resources": ["cpu"],
        "nodes": [{"id": "n", "capacity": {"cpu": 0}}, {"id": "m", "capacity": {"cpu": 10}}],
        "links": [],
        "flows": [
            {"id": "f", "rate_min": 5, "rate_max": 50, "node_costs": {}, "link_costs": {}},
        ],
        "classes": [
            {"id": name, "flow": "f", "node": node, "population_max": 9, "costs": costs}
            | {"utility": {"kind": "log", "weight": 1}}
            for name, node, costs in (
                ("shut", "n", {"cpu": 1}),
                ("free", "n", {}),
                ("some", "m", {"cpu": 1}),
            )
        ],
    }
    result = certified.solve(problem_from_dict(entries), certified.Params(), stop=never, seed=0)
    assert result.populations["shut"] == 0
    assert result.populations["free"] == 9
    assert result.status == "optimal"


@st.composite
def one_flow(draw: st.DrawFn) -> dict:
    count = draw(st.integers(1, 6))
    kinds = draw(st.lists(utilities, min_size=1, max_size=3))
    low = draw(st.sampled_from([0.0, 0.5, 10.0]))
    return {
        "resources": ["cpu"],
        "nodes": [{"id": "n", "capacity": {"cpu": 1e12}}],
        "links": [],
        "flows": [
            {
                "id": "f",
                "rate_min": low,
                "rate_max": low + draw(st.sampled_from([0.0, 3.0, 990.0, 1e6])),
                "node_costs": {"n": {"cpu": draw(st.sampled_from([0.0, 1.0, 30.0]))}},
                "link_costs": {},
            }
        ],
        "classes": [
            {
                "id": f"c{at}",
                "flow": "f",
                "node": "n",
                "population_max": draw(st.integers(0, 9)),
                "costs": {"cpu": draw(st.sampled_from([0.0, 0.1, 1.0, 7.0, 100.0]))},
                "utility": draw(st.sampled_from(kinds)),
            }
            for at in range(count)
        ],
    }


@settings(max_examples=150, deadline=None)
@given(one_flow(), st.sampled_from([0.0, 1e-6, 0.03, 0.2, 1.0, 40.0]))
def test_answer_of_a_flow_is_the_greatest_on_a_fine_grid(entries: dict, price: float) -> None:
    """h_i against a scan of the rates: never below it, and reached at the rate it names."""
    problem = problem_from_dict(entries)
    arrays = to_arrays(problem)
    whole = layout(arrays)
    prices = np.array([price])
    greatest = answer(whole, blocks(1).start, prices)
    flow = problem.flows[0]
    own = price * flow.node_costs["n"]["cpu"]

    def value(rates: np.ndarray) -> np.ndarray:
        total = -own * rates
        for c in problem.classes:
            surplus = np.asarray(c.utility.value(rates)) - price * c.costs["cpu"] * rates
            total = total + c.population_max * np.maximum(surplus, 0.0)
        return np.asarray(total)

    grid = np.linspace(flow.rate_min, flow.rate_max, 3001)
    tolerance = 1e-9 * max(1.0, abs(greatest.sizes[0]))
    assert greatest.values[0] >= value(grid).max() - tolerance
    assert abs(value(greatest.rates)[0] - greatest.values[0]) <= tolerance


@settings(max_examples=100, deadline=None)
@given(utilities, st.floats(1e-3, 1e4), st.floats(1e-6, 1e3))
def test_compiled_shapes_agree_with_the_plug_ins(plain: dict, rate: float, marginal: float) -> None:
    shape = utility_from_dict(plain).shape
    entries = {
        "resources": [],
        "nodes": [{"id": "n", "capacity": {}}],
        "links": [],
        "flows": [{"id": "f", "rate_min": 0, "rate_max": 1, "node_costs": {}, "link_costs": {}}],
        "classes": [
            {
                "id": "c",
                "flow": "f",
                "node": "n",
                "population_max": 1,
                "costs": {},
                "utility": plain,
            }
        ],
    }
    at = layout(to_arrays(problem_from_dict(entries)))
    batch = type(shape).batch([shape])
    assert value_at(at, 0, rate) == pytest.approx(float(shape.value(rate)), rel=1e-12, abs=1e-12)
    assert slope_at(at, 0, rate) == pytest.approx(
        float(batch.derivative(np.array([rate]))[0]), rel=1e-9
    )
    expected = float(batch.rate_at(np.array([marginal]))[0])
    assert rate_where(at, 0, marginal) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_parts_of_a_layout_give_the_bits_of_the_whole() -> None:
    """What partitions of a cluster compute apart is what one process computes."""
    arrays = to_arrays(instance(30, 2))
    whole, capacity = layout(arrays), capacities(arrays)
    starts = blocks(len(arrays.flow_ids)).start
    prices = np.random.default_rng(1).uniform(0, 0.1, len(capacity))
    local = LocalDual(whole, blocks(len(arrays.flow_ids)), capacity, threads=3)
    expected = local(prices)
    pieces = []
    for first, last in ((0, 1), (1, 3), (3, len(starts) - 1)):
        own = part(whole, int(starts[first]), int(starts[last]))
        pieces.append(answer(own, starts[first : last + 1] - starts[first], prices))
    together = combined(
        np.concatenate([piece.values for piece in pieces]),
        np.concatenate([piece.sizes for piece in pieces]),
        np.concatenate([piece.loads for piece in pieces]),
        prices,
        capacity,
        largest_flow(whole),
    )
    assert together.bound == expected.bound
    assert np.array_equal(together.loads, expected.loads)
    assert np.array_equal(np.concatenate([piece.rates for piece in pieces]), local.rates)


LEFT_TO_COMPILE = """
import importlib, pathlib, pkgutil, sys
from numba.core.dispatcher import Dispatcher
import weir.allocation
from weir.warm_up import warm_up_optimizers
from weir.codec import problem_from_json
from weir.optimizers import certified
from weir.stop import never

def compiled():
    names = [m.name for m in pkgutil.walk_packages(weir.allocation.__path__, "weir.allocation.")]
    members = [item for name in names for item in vars(importlib.import_module(name)).values()]
    kernels = [item for item in members if isinstance(item, Dispatcher)]
    return {(k.py_func.__module__, k.__name__, str(s)) for k in kernels for s in k.signatures}

warm_up_optimizers()
before = compiled()
problem = problem_from_json(pathlib.Path(sys.argv[1]).read_bytes())
certified.solve(problem, certified.Params(), stop=never, seed=0)
print(sorted(compiled() - before))
"""


def test_nothing_is_left_to_compile_after_the_warm_up() -> None:
    """In a process of its own, for in this one other tests have compiled things."""
    command = [sys.executable, "-c", LEFT_TO_COMPILE, str(FOLDER / "power-0.5.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
