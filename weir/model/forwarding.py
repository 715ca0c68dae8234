"""Which part of a flow's way its messages travel: all of it, or only where somebody wants them.

With `always`, the papers' reading, a flow loads its whole route even if nobody is admitted. With
`wanted`, what brokers do that forward only to whoever asks, a flow loads a node, and the link that
leads there, only while a consumer of it is admitted at that node or behind it. What lies behind
what is `Flow.route`, a tree; a node without an entry hangs on the source. The source's own cost,
and that of links that lead to no node of the route, count while anybody anywhere is admitted.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from weir.model.problem import Flow, Hop, Problem


class Forwarding(StrEnum):
    """What a problem means by its routes."""

    ALWAYS = "always"
    WANTED = "wanted"


def reached(flow: Flow, hosts: Collection[str]) -> frozenset[str]:
    """The nodes that a flow passes to serve consumers at these nodes, the source with them."""
    nodes = set() if flow.source is None or not hosts else {flow.source}
    for host in hosts:
        node: str | None = host
        while node is not None and node not in nodes:
            nodes.add(node)
            hop = flow.route.get(node)
            node = None if hop is None else hop.upstream
    return frozenset(nodes)


def without_nodes(route: Mapping[str, Hop], gone: Collection[str]) -> dict[str, Hop]:
    """The route when nodes are taken away: what lay behind one hangs on what lay before it."""
    kept: dict[str, Hop] = {}
    for node, hop in route.items():
        upstream: str | None = hop.upstream
        while upstream is not None and upstream in gone:
            before = route.get(upstream)
            upstream = None if before is None else before.upstream
        if node not in gone and upstream is not None:
            kept[node] = replace(hop, upstream=upstream)
    return kept


def serving(flow: Flow, hosts: Collection[str]) -> Flow:
    """The flow with the costs that it has while consumers are admitted at just these nodes."""
    nodes = reached(flow, hosts)
    idle = {
        hop.link for node, hop in flow.route.items() if hop.link is not None and node not in nodes
    }
    return replace(
        flow,
        node_costs={node: costs for node, costs in flow.node_costs.items() if node in nodes},
        link_costs={
            link: cost for link, cost in flow.link_costs.items() if hosts and link not in idle
        },
    )


def hosts_of(problem: Problem, populations: Mapping[str, float]) -> dict[str, set[str]]:
    """Per flow the nodes at which somebody is admitted."""
    hosts: dict[str, set[str]] = {flow.id: set() for flow in problem.flows}
    for consumers in problem.classes:
        if populations.get(consumers.id, 0) > 0:
            hosts[consumers.flow].add(consumers.node)
    return hosts


def served(problem: Problem, hosts: Mapping[str, Collection[str]]) -> Problem:
    """The problem `always` in which each flow goes to these nodes only and nobody else gets in."""
    return replace(
        problem,
        forwarding=Forwarding.ALWAYS,
        flows=tuple(serving(flow, hosts.get(flow.id, ())) for flow in problem.flows),
        classes=tuple(
            consumers
            if consumers.node in hosts.get(consumers.flow, ())
            else replace(consumers, population_max=0)
            for consumers in problem.classes
        ),
    )
