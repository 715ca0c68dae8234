"""What any answer to an allocation problem must satisfy, whoever gave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.model import loads

if TYPE_CHECKING:
    from weir.model import Problem, Result

TOLERANCE = 1e-9


def assert_feasible(problem: Problem, result: Result) -> None:
    """Bounds, whole populations, and every load within its capacity."""
    assert set(result.rates) == {flow.id for flow in problem.flows}
    assert set(result.populations) == {consumers.id for consumers in problem.classes}
    for flow in problem.flows:
        assert flow.rate_min <= result.rates[flow.id] <= flow.rate_max
    for consumers in problem.classes:
        assert 0 <= result.populations[consumers.id] <= consumers.population_max
        assert isinstance(result.populations[consumers.id], int)
    node_loads, link_loads = loads(problem, result.rates, result.populations)
    for node in problem.nodes:
        for resource in problem.resources:
            assert node_loads[node.id][resource] <= node.capacity[resource] * (1 + TOLERANCE)
    for link in problem.links:
        assert link_loads[link.id] <= link.capacity * (1 + TOLERANCE)


def minimum_fits(problem: Problem) -> bool:
    """Whether the minimum rates load nothing above its capacity."""
    node_loads, link_loads = loads(problem, {f.id: f.rate_min for f in problem.flows}, {})
    return all(
        node_loads[node.id][resource] <= node.capacity[resource] * (1 + TOLERANCE)
        for node in problem.nodes
        for resource in problem.resources
    ) and all(link_loads[link.id] <= link.capacity * (1 + TOLERANCE) for link in problem.links)
