"""What is said to admit a class does admit it: solved again, on the base workload and by hand."""

import json
from collections.abc import Callable

import pytest

from tests.factories.runs import golden_problem
from weir.allocation.explanation import Explanation, Verdict, explain
from weir.codec import problem_from_dict, start_of
from weir.model import Problem, Result, loads
from weir.optimizers import certified
from weir.scenarios.admission import AHEAD, Lever, trials
from weir.stop import never


def solver(before: Result) -> Callable[[Problem], Result]:
    def solve(problem: Problem) -> Result:
        return certified.solve(
            problem, certified.Params(), stop=never, seed=0, start=start_of(before)
        )

    return solve


def explained(problem: Problem, result: Result) -> dict[str, Explanation]:
    node_loads, _ = loads(problem, result.rates, result.populations)
    flows = {flow.id: flow for flow in problem.flows}
    nodes = {node.id: node for node in problem.nodes}
    return {
        row.id: explain(
            row,
            flows[row.flow],
            rate_per_s=result.rates[row.flow],
            admitted=result.populations[row.id],
            prices=result.node_prices[row.node],
            room={
                name: max(0.0, capacity - node_loads[row.node].get(name, 0.0))
                for name, capacity in nodes[row.node].capacity.items()
            },
        )
        for row in problem.classes
    }


@pytest.fixture(scope="module")
def base() -> tuple[Problem, Result, dict[str, Explanation]]:
    problem = problem_from_dict(golden_problem())
    result = certified.solve(problem, certified.Params(), stop=never, seed=0)
    return problem, result, explained(problem, result)


def test_every_refused_class_gets_in_at_the_worth_that_is_named(base) -> None:
    problem, result, why = base
    refused = [row for row in why.values() if row.verdict == Verdict.COSTS_MORE]
    assert len(refused) >= 8
    for row in refused:
        first = trials(problem, row, solve=solver(result), enough=lambda: True)
        worth = next(trial for trial in first if trial.lever == Lever.WORTH)
        # The first step, just ahead of the margin, is enough: prices hardly move for a few.
        assert worth.after == pytest.approx(AHEAD * row.price / row.value)
        assert worth.admitted > 0, row.consumer_class
        # By the functions as they are, a class that only counts for more brings no gain.
        assert worth.utility <= result.utility * (1 + 1e-4)


def test_a_refused_class_does_not_get_in_below_the_worth_that_is_named(base) -> None:
    _, result, why = base
    row = why["c8"]
    lower = json.loads(json.dumps(golden_problem()))
    (entry,) = [entry for entry in lower["classes"] if entry["id"] == "c8"]
    entry["utility"]["weight"] *= 0.97 * row.price / row.value
    again = certified.solve(
        problem_from_dict(lower), certified.Params(), stop=never, seed=0, start=start_of(result)
    )
    assert again.populations["c8"] == 0


def test_the_class_at_the_margin_is_all_in_with_the_room_that_is_named(base) -> None:
    problem, result, why = base
    row = why["c9"]
    assert 0 < row.admitted < row.wanted
    (trial,) = trials(problem, row, solve=solver(result))
    (need,) = row.needs
    rest = (row.wanted - row.admitted) * need.units_per_s
    assert (trial.lever, trial.resource) == (Lever.CAPACITY, "cpu")
    assert trial.after == pytest.approx(trial.before + rest - need.room)
    assert trial.admitted == pytest.approx(row.wanted, rel=0.02)


def test_a_class_that_is_all_in_needs_no_trial(base) -> None:
    problem, _, why = base

    def never_asked(problem: Problem) -> Result:
        raise AssertionError("nothing is to be solved")

    assert trials(problem, why["c18"], solve=never_asked) == ()


def a_problem(rate_min: float) -> Problem:
    """One flow whose rate is held up by a class that pays for it; another class that does not."""
    return problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "n", "capacity": {"cpu": 1000.0}}],
            "links": [],
            "flows": [
                {
                    "id": "f",
                    "rate_min": rate_min,
                    "rate_max": 100.0,
                    "node_costs": {"n": {"cpu": 0.0}},
                    "link_costs": {},
                }
            ],
            "classes": [
                {
                    "id": "steep",
                    "flow": "f",
                    "node": "n",
                    "population_max": 10,
                    "costs": {"cpu": 1.0},
                    "utility": {"kind": "linear", "weight": 10.0},
                },
                {
                    "id": "flat",
                    "flow": "f",
                    "node": "n",
                    "population_max": 50,
                    "costs": {"cpu": 1.0},
                    "utility": {"kind": "log", "weight": 20.0},
                },
            ],
        }
    )


def test_a_lower_rate_that_is_named_admits() -> None:
    problem = a_problem(1.0)
    result = certified.solve(problem, certified.Params(), stop=never, seed=0)
    row = explained(problem, result)["flat"]
    if row.rate_at_margin_per_s is None or row.verdict != Verdict.COSTS_MORE:
        pytest.fail(f"the example is meant to refuse at {result.rates}: {row}")
    by_lever = {trial.lever: trial for trial in trials(problem, row, solve=solver(result))}
    assert by_lever[Lever.RATE].after == row.rate_at_margin_per_s < row.rate_per_s
    assert by_lever[Lever.RATE].admitted > 0
