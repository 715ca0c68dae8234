"""Two-stage solving: what is left out, and that leaving it out never loses."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.weir.answers import assert_feasible
from tests.weir.kernel_strategies import problems
from weir.allocation.pruning import as_routed, unwanted
from weir.codec import problem_from_dict, result_from_dict, result_to_dict, result_to_record
from weir.model import Problem, Result
from weir.optimizers import methods
from weir.stop import Progress, after_iterations

PRUNING = [
    name for name, module in sorted(methods().items()) if "prune" in module.Params.__annotations__
]
QUICK: dict[str, dict[str, Any]] = {"annealing": {"steps": 2000}}
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def solve(name: str, problem: Problem, *, prune: bool, **more: Any) -> Result:
    module = methods()[name]
    params = module.Params(**QUICK.get(name, {}), prune=prune)
    return module.solve(problem, params, stop=after_iterations(20), seed=3, **more)


def two_nodes(*, relay: bool = False) -> Problem:
    """A costly flow reaches two nodes; at `far` something dearer takes all the room."""

    def consumers(name: str, flow: str, node: str, weight: float) -> dict[str, Any]:
        return {
            "id": name,
            "flow": flow,
            "node": node,
            "population_max": 100,
            "costs": {"cpu": 10},
            "utility": {"kind": "log", "weight": weight},
        }

    node_costs = {"near": {"cpu": 40}, "far": {"cpu": 40}}
    if relay:
        node_costs["between"] = {"cpu": 40}
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [
                {"id": node, "capacity": {"cpu": 10_000}} for node in ("near", "between", "far")
            ],
            "links": [{"id": "l", "capacity": 1000}],
            "flows": [
                {
                    "id": "wide",
                    "rate_min": 20,
                    "rate_max": 100,
                    "node_costs": node_costs,
                    "link_costs": {"l": 1},
                },
                {
                    "id": "dear",
                    "rate_min": 10,
                    "rate_max": 10,
                    "node_costs": {"far": {"cpu": 1}},
                    "link_costs": {},
                },
            ],
            "classes": [
                consumers("w.near", "wide", "near", 5),
                consumers("w.far", "wide", "far", 0.001),
                consumers("d.far", "dear", "far", 1000),
            ],
        }
    )


def test_left_out_is_the_cost_where_all_who_waited_were_refused() -> None:
    problem = two_nodes(relay=True)
    result = solve("lrgp", problem, prune=True)
    assert result.pruned == {"wide": ("far",)}  # not `between`, where nobody waits
    routed = as_routed(problem, result.pruned)
    wide = next(flow for flow in routed.flows if flow.id == "wide")
    assert set(wide.node_costs) == {"near", "between"}
    assert wide.link_costs == {"l": 1}
    assert [c.population_max for c in routed.classes if c.id == "w.far"] == [0]
    assert result.populations["w.far"] == 0
    assert_feasible(routed, result)


def test_what_was_paid_for_nobody_goes_to_those_who_wait() -> None:
    problem = two_nodes()
    whole = solve("lrgp", problem, prune=False)
    pruned = solve("lrgp", problem, prune=True)
    assert pruned.utility > whole.utility
    assert pruned.populations["d.far"] > whole.populations["d.far"]
    assert pruned.problem_hash == whole.problem_hash


@pytest.mark.parametrize("name", PRUNING)
@quick
@given(problem=problems())
def test_pruning_never_loses_and_holds_as_routed(name: str, problem: Problem) -> None:
    whole = solve(name, problem, prune=False)
    pruned = solve(name, problem, prune=True)
    assert pruned.status != "infeasible" or whole.status == "infeasible"
    assert pruned.utility >= whole.utility
    assert len(pruned.trace) == pruned.iterations
    if whole.status != "infeasible":
        assert_feasible(as_routed(problem, pruned.pruned), pruned)
        for flow, nodes in pruned.pruned.items():
            for entry in problem.classes:
                if entry.flow == flow and entry.node in nodes:
                    assert pruned.populations[entry.id] == 0


@pytest.mark.parametrize("name", PRUNING)
def test_iterations_go_on_counting_in_the_second_stage(name: str) -> None:
    told: list[Progress] = []
    result = solve(name, two_nodes(), prune=True, on_progress=told.append)
    assert [progress.iteration for progress in told] == list(range(1, len(told) + 1))
    best = [progress.best_utility for progress in told]
    assert best == sorted(best)
    assert result.iterations <= len(told)


def test_record_and_file_say_what_was_left_out() -> None:
    result = solve("lrgp", two_nodes(), prune=True)
    assert result_to_dict(result)["pruned"] == {"wide": ["far"]}
    assert result_from_dict(result_to_record(result)) == result
    assert "pruned" not in result_to_dict(solve("lrgp", two_nodes(), prune=False))


@quick
@given(problems(least=0.0))
def test_somebody_admitted_keeps_the_cost(problem: Problem) -> None:
    result = partial(solve, "greedy", problem)(prune=False)
    for flow, nodes in unwanted(problem, result).items():
        there = [c for c in problem.classes if c.flow == flow and c.node in nodes]
        assert any(c.population_max > 0 for c in there)
        assert all(result.populations[c.id] == 0 for c in there)
