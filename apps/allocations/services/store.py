"""Store an optimizer's answer as rows that people page through and compare."""

from typing import Any

from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad
from apps.runs.models import Run
from apps.runs.services.computations import next_number
from weir.allocation.pruning import as_routed
from weir.model import Problem, Result, loads

BATCH = 2000


def store_rows(
    run: Run, problem: Problem, result: Result, moments: list[tuple[int, float]]
) -> Allocation:
    """Store the allocation of a feasible answer, with its rates, populations and loads.

    `moments`: pairs of iteration and seconds until its end.
    """
    wanted = {c.id: c.population_max for c in problem.classes}
    allocation = Allocation.objects.create(
        system=run.system,
        run=run,
        number=next_number(Allocation, run),
        status=result.status,
        method=result.method,
        utility=result.utility,
        upper_bound=result.upper_bound,
        iterations=result.iterations,
        trace=list(result.trace),
        bounds=list(result.bounds),
        moments=moments,
        admitted=sum(result.populations.values()),
        wanted=sum(wanted.values()),
    )
    populations = [_population(allocation, c, result) for c in problem.classes]
    ClassPopulation.objects.bulk_create(populations, batch_size=BATCH)
    _store_rates(allocation, problem, result, populations)
    _store_loads(allocation, as_routed(problem, result.pruned), result)
    return allocation


def _population(allocation: Allocation, consumers: Any, result: Result) -> ClassPopulation:
    rate = result.rates.get(consumers.flow, 0.0)
    admitted = result.populations.get(consumers.id, 0)
    value = float(consumers.utility.value(rate))
    prices = result.node_prices.get(consumers.node, {})
    price = sum(cost * rate * prices.get(name, 0.0) for name, cost in consumers.costs.items())
    return ClassPopulation(
        allocation=allocation,
        consumer_class=consumers.id,
        flow=consumers.flow,
        node=consumers.node,
        admitted=admitted,
        wanted=consumers.population_max,
        utility=admitted * value,
        value_of_one=value,
        price_of_one=price,
        scale=float(consumers.utility.scale),
    )


def _store_rates(
    allocation: Allocation, problem: Problem, result: Result, populations: list[ClassPopulation]
) -> None:
    sums: dict[str, list[float]] = {flow.id: [0, 0, 0.0] for flow in problem.flows}
    nodes: dict[str, set[str]] = {flow.id: set(flow.node_costs) for flow in problem.flows}
    for row in populations:
        total = sums[row.flow]
        total[0] += row.admitted
        total[1] += row.wanted
        total[2] += row.utility
        nodes[row.flow].add(row.node)
    FlowRate.objects.bulk_create(
        [
            FlowRate(
                allocation=allocation,
                flow=flow.id,
                nodes=sorted(nodes[flow.id]),
                rate_min_per_s=flow.rate_min,
                rate_max_per_s=flow.rate_max,
                rate_per_s=result.rates[flow.id],
                admitted=int(sums[flow.id][0]),
                wanted=int(sums[flow.id][1]),
                utility=sums[flow.id][2],
            )
            for flow in problem.flows
        ],
        batch_size=BATCH,
    )


def _store_loads(allocation: Allocation, problem: Problem, result: Result) -> None:
    node_loads, link_loads = loads(problem, result.rates, result.populations)
    rows = [
        ResourceLoad(
            allocation=allocation,
            place=Place.NODE,
            name=node.id,
            resource=resource,
            capacity=node.capacity.get(resource, 0.0),
            load=load,
            price=result.node_prices.get(node.id, {}).get(resource, 0.0),
        )
        for node in problem.nodes
        for resource, load in node_loads[node.id].items()
        if resource in node.capacity
    ]
    rows += [
        ResourceLoad(
            allocation=allocation,
            place=Place.LINK,
            name=link.id,
            capacity=link.capacity,
            load=link_loads[link.id],
            price=result.link_prices.get(link.id, 0.0),
        )
        for link in problem.links
    ]
    ResourceLoad.objects.bulk_create(rows, batch_size=BATCH)
