"""What an allocation loads on each node and link (equations 4 and 5 of the paper)."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from weir.model.forwarding import Forwarding, hosts_of, serving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model.problem import Problem


def loads(
    problem: Problem, rates: Mapping[str, float], populations: Mapping[str, float]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Load per node and resource, and per link; a flow or class left out counts as 0.

    Follows what the problem says about forwarding.
    """
    if problem.forwarding is Forwarding.WANTED:
        hosts = hosts_of(problem, populations)
        flows = tuple(serving(flow, hosts[flow.id]) for flow in problem.flows)
    else:
        flows = problem.flows
    at_node: dict[tuple[str, str], list[float]] = defaultdict(list)
    at_link: dict[str, list[float]] = defaultdict(list)
    for flow in flows:
        rate = rates.get(flow.id, 0.0)
        for node, costs in flow.node_costs.items():
            for resource, cost in costs.items():
                at_node[node, resource].append(cost * rate)
        for link, cost in flow.link_costs.items():
            at_link[link].append(cost * rate)
    for consumers in problem.classes:
        messages = populations.get(consumers.id, 0) * rates.get(consumers.flow, 0.0)
        for resource, cost in consumers.costs.items():
            at_node[consumers.node, resource].append(cost * messages)
    node_loads = {
        node.id: {
            resource: math.fsum(at_node.get((node.id, resource), ()))
            for resource in problem.resources
        }
        for node in problem.nodes
    }
    link_loads = {link.id: math.fsum(at_link.get(link.id, ())) for link in problem.links}
    return node_loads, link_loads
