"""Budgets: what dividing a resource freely is worth, in units and in money, and where it goes."""

import math
from itertools import product
from pathlib import Path

import pytest

from weir.codec import canonical_bytes, problem_from_dict, problem_from_json
from weir.errors import InvalidProblem
from weir.model import loads
from weir.optimizers import method
from weir.scenarios import applied, check, edit_from_dict, expand, solve_unit, study_from_dict
from weir.scenarios.document import study_csv
from weir.stop import never

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "lrgp" / "log-6-flows-3-nodes.json"
LRGP = [{"method": "lrgp", "parameters": {"max_iterations": 30}}]
POOL = {"kind": "budget", "resource": "cpu", "nodes": "all"}


@pytest.fixture(scope="module")
def problem():
    return problem_from_json(GOLDEN.read_bytes())


def edited(problem, *edits):
    return applied(problem, [edit_from_dict(edit) for edit in edits]).problem


def solved(problem, spec):
    study = study_from_dict({"kind": "sweep", "methods": LRGP, **spec})
    check(study, problem)
    return [
        row for unit in expand(study) for row in solve_unit(problem, study, unit, clock=lambda: 0.0)
    ]


def best_of(problem):
    """The certified optimum, and the bound that no answer passes."""
    optimizer = method("certified")
    return optimizer.solve(problem, optimizer.Params(), stop=never, seed=0)


def test_pooled_budget_is_never_worse_than_any_division_and_its_division_is_as_good(problem):
    """The pool's answer, given back to the nodes as capacities, is feasible with that utility."""
    pool = {"kind": "budget", "resource": "cpu", "nodes": "all", "scale": 1.0}
    [as_is, pooled] = solved(
        problem,
        {"scenarios": [{"label": "pool", "edits": [pool]}]},
    )
    total = math.fsum(node.capacity["cpu"] for node in problem.nodes)
    assert math.fsum(pooled["division"].values()) <= total * (1 + 1e-9)
    assert pooled["utility"] > as_is["utility"]
    optimizer = method("lrgp")
    edits = [
        {"kind": "node_capacity", "nodes": [node], "set": capacity * (1 + 1e-9)}
        for node, capacity in pooled["division"].items()
    ]
    result = optimizer.solve(
        edited(problem, pool), optimizer.Params(max_iterations=30), stop=never, seed=0
    )
    spent, _ = loads(problem, result.rates, result.populations)
    divided = edited(problem, *edits)
    for node in divided.nodes:
        assert spent[node.id]["cpu"] <= node.capacity["cpu"]


def test_pool_keeps_other_resources_apart_by_node():
    two = problem_from_dict(
        {
            "resources": ["cpu", "io"],
            "nodes": [
                {"id": n, "capacity": {"cpu": 10, "io": io}} for n, io in (("a", 3), ("b", 4))
            ],
            "links": [],
            "flows": [
                {"id": "f", "rate_min": 0, "rate_max": 9, "link_costs": {}}
                | {"node_costs": {"a": {"cpu": 1, "io": 2}, "b": {"cpu": 5}}}
            ],
            "classes": [
                {"id": "c", "flow": "f", "node": "b", "population_max": 3}
                | {"costs": {"io": 1}, "utility": {"kind": "log", "weight": 1}}
            ],
        }
    )
    after = edited(two, {"kind": "budget", "resource": "cpu", "nodes": "all", "total": 20})
    [pool] = after.nodes
    assert dict(pool.capacity) == {"cpu": 20.0, "io": 0.0, "io at a": 3.0, "io at b": 4.0}
    assert dict(after.flows[0].node_costs[pool.id]) == {"cpu": 6.0, "io at a": 2.0}
    assert dict(after.classes[0].costs) == {"io at b": 1.0}
    assert problem_from_json(canonical_bytes(after))


def small(capacities=(6.0, 6.0)):
    """Two brokers; a consumer at `far` is worth more and a unit of capacity there costs more."""
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [
                {"id": name, "capacity": {"cpu": size}}
                for name, size in zip(("near", "far"), capacities, strict=True)
            ],
            "links": [],
            "flows": [
                {"id": f"f-{name}", "rate_min": 1, "rate_max": 4, "link_costs": {}}
                | {"node_costs": {name: {"cpu": 0.5}}}
                for name in ("near", "far")
            ],
            "classes": [
                {"id": f"c-{name}", "flow": f"f-{name}", "node": name, "population_max": 3}
                | {"costs": {"cpu": 1.0}, "utility": {"kind": "log", "weight": weight}}
                for name, weight in (("near", 2.0), ("far", 5.0))
            ],
        }
    )


MONEY = {**POOL, "unit_costs": {"far": 3.0}}


def test_no_division_of_the_money_is_worth_more_than_the_pool():
    """Every division on a grid, each solved to its own certified optimum."""
    total = 18.0
    pooled = best_of(edited(small(), {**MONEY, "total": total}))
    best = -math.inf
    for share in range(13):
        near = total * share / 12
        divided = best_of(small((near, (total - near) / 3.0)))
        if divided.status != "infeasible":
            best = max(best, divided.utility)
    assert best <= pooled.upper_bound * (1 + 1e-9)
    assert pooled.utility >= best * (1 - 1e-9)


def test_division_costs_no_more_than_the_budget_and_carries_the_answer():
    [_, row] = solved(
        small(), {"scenarios": [{"label": "money", "edits": [{**MONEY, "total": 18}]}]}
    )
    division = row["division"]
    assert division["near"] + 3.0 * division["far"] <= 18 * (1 + 1e-9)
    given = small((division["near"] * (1 + 1e-9), division["far"] * (1 + 1e-9)))
    assert best_of(given).utility >= row["utility"] * (1 - 1e-9)


@pytest.mark.parametrize("spread", ["best", "in_proportion"])
def test_scale_counts_what_todays_capacity_costs(spread):
    after = edited(small((6.0, 2.0)), {**MONEY, "scale": 0.5, "spread": spread})
    if spread == "best":
        assert [dict(node.capacity) for node in after.nodes] == [{"cpu": 6.0}]
        assert [row.costs["cpu"] for row in after.classes] == [1.0, 3.0]
    else:
        assert [node.capacity["cpu"] for node in after.nodes] == [3.0, 1.0]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({"near": 0}, "unit_costs.near: must be above 0"),
        ({"near": "much"}, "unit_costs.near: must be a number"),
        ([3], "unit_costs: must be an object"),
    ],
)
def test_cost_that_is_none_is_refused_with_its_node(costs, words):
    with pytest.raises(InvalidProblem) as caught:
        edit_from_dict({**POOL, "total": 1, "unit_costs": costs})
    assert words in str(caught.value)


def test_cost_of_an_unknown_node_is_refused():
    with pytest.raises(InvalidProblem, match=r'unit_costs\.nowhere: no node "nowhere"'):
        edited(small(), {**POOL, "total": 1, "unit_costs": {"nowhere": 2}})


def axis(edit, values=(0.5, 1.0)):
    return {"label": "Varied", "edit": edit, "field": "scale", "values": list(values)}


def test_model_as_it_is_is_a_point_of_the_axis(problem):
    """With the quantity and the price that the system has now, on the frontier's own scale."""
    rows = solved(problem, {"axes": [axis({"kind": "node_capacity", "nodes": ["S2"]})]})
    as_is, now = rows[0], rows[2]
    assert now["coordinates"] == [1.0]
    assert (as_is["quantities"], as_is["marginals"]) == (now["quantities"], now["marginals"])


def test_budget_says_of_the_model_as_it_is_what_brokers_have_and_where_more_is_worth_most(problem):
    as_is = solved(problem, {"axes": [axis(POOL)]})[0]
    assert as_is["quantities"] == [2_700_000.0]
    assert as_is["division"] == {"S0": 900_000.0, "S1": 900_000.0, "S2": 900_000.0}
    assert as_is["marginals"] == [max(price["price"] for price in as_is["prices"])]


def test_budget_is_divided_both_ways_side_by_side(problem):
    """The range in today's proportion; each way then divides the sum that it leaves."""
    rows = solved(
        problem,
        {
            "axes": [
                axis({**POOL, "spread": "in_proportion"}),
                {"label": "Divided", "edit": {**POOL, "scale": 1}, "field": "spread"}
                | {"values": ["best", "in_proportion"]},
            ]
        },
    )
    by = {tuple(row["coordinates"]): row for row in rows[1:]}
    for (scale, way), row in by.items():
        assert row["quantities"][0] == pytest.approx(scale * 2_700_000, rel=1e-12), way
    for scale in (0.5, 1.0):
        best, even = by[scale, "best"], by[scale, "in_proportion"]
        assert best["utility"] > even["utility"]
        assert set(even["division"].values()) == {scale * 900_000.0}


def test_dearest_unit_of_every_resource_is_kept_however_little_there_is_of_it():
    """Seven large brokers are worth more in all; the small one is where a unit is worth most."""
    names = [f"n{index}" for index in range(8)]
    wide = problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [
                {"id": name, "capacity": {"cpu": 2.0 if name == "n7" else 100.0}} for name in names
            ],
            "links": [],
            "flows": [
                {"id": f"f-{name}", "rate_min": 0, "rate_max": 1e6, "link_costs": {}}
                | {"node_costs": {name: {"cpu": 1.0}}}
                for name in names
            ],
            "classes": [
                {"id": f"c-{name}", "flow": f"f-{name}", "node": name, "population_max": 1}
                | {
                    "costs": {"cpu": 1.0},
                    "utility": {"kind": "power"}
                    | {"weight": 1.0 if name == "n7" else 5.0, "exponent": 0.5},
                }
                for name in names
            ],
        }
    )
    row = solved(
        wide,
        {"methods": [{"method": "certified"}], "scenarios": [{"label": "same", "edits": []}]},
    )[0]
    prices = {price["id"]: price["price"] for price in row["prices"]}
    assert len(row["prices"]) == 6
    assert max(prices, key=lambda name: prices[name]) == "n7"


def test_table_has_a_column_for_what_each_broker_gets(problem):
    spec = {"kind": "sweep", "methods": LRGP, "axes": [axis(POOL)]}
    header = study_csv(study_from_dict(spec), solved(problem, spec)).splitlines()[0]
    assert "budget gives S0,budget gives S1,budget gives S2" in header


def test_grid_of_pools_is_well_formed():
    for spread, costs in product(("best", "in_proportion"), ({}, {"near": 2.5})):
        after = edited(small(), {**POOL, "scale": 2, "spread": spread, "unit_costs": costs})
        assert problem_from_json(canonical_bytes(after))
