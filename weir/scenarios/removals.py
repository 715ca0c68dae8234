"""Edits that take something away: flows, nodes, links.

The problem knows costs, not routes. Removing a node or a link therefore says: what flows spent
there is no longer spent, and nothing is spent elsewhere instead. Consumers at a removed node are
gone; a flow stays and serves its other nodes, also one that has no consumer left. This is the
kindest reading; to study a detour, add its costs to the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from weir.errors import join_path
from weir.model.forwarding import without_nodes
from weir.reading import members
from weir.scenarios._protocol import Measure
from weir.scenarios._reading import ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.model import Problem, Result


def _references(field: str, what: str, names: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for index, name in enumerate(names):
        yield f"{field}[{index}]", what, name


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveFlow:
    """Flows and all their classes go."""

    KIND: ClassVar[str] = "remove_flow"
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    NAMES: ClassVar[tuple[str, ...]] = ("flows",)

    flows: tuple[str, ...]

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> RemoveFlow:
        members(obj, path, ("flows",))
        return cls(flows=ids(obj["flows"], join_path(path, "flows")))

    def plain(self) -> dict[str, Any]:
        return {"flows": list(self.flows)}

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from _references("flows", "flow", self.flows)

    def apply(self, problem: Problem) -> Problem:
        gone = frozenset(self.flows)
        return replace(
            problem,
            flows=tuple(flow for flow in problem.flows if flow.id not in gone),
            classes=tuple(row for row in problem.classes if row.flow not in gone),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        return Measure()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """Nodes go, with their classes and with what flows cost there."""

    KIND: ClassVar[str] = "remove_node"
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    NAMES: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: tuple[str, ...]

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> RemoveNode:
        members(obj, path, ("nodes",))
        return cls(nodes=ids(obj["nodes"], join_path(path, "nodes")))

    def plain(self) -> dict[str, Any]:
        return {"nodes": list(self.nodes)}

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from _references("nodes", "node", self.nodes)

    def apply(self, problem: Problem) -> Problem:
        gone = frozenset(self.nodes)
        return replace(
            problem,
            nodes=tuple(node for node in problem.nodes if node.id not in gone),
            flows=tuple(
                replace(
                    flow,
                    node_costs={k: costs for k, costs in flow.node_costs.items() if k not in gone},
                    source=None if flow.source in gone else flow.source,
                    route=without_nodes(flow.route, gone),
                )
                if not gone.isdisjoint(flow.node_costs)
                or not gone.isdisjoint(flow.route)
                or any(hop.upstream in gone for hop in flow.route.values())
                or flow.source in gone
                else flow
                for flow in problem.flows
            ),
            classes=tuple(row for row in problem.classes if row.node not in gone),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        return Measure()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLink:
    """Links go, with what flows cost on them."""

    KIND: ClassVar[str] = "remove_link"
    NUMBERS: ClassVar[tuple[str, ...]] = ()
    NAMES: ClassVar[tuple[str, ...]] = ("links",)

    links: tuple[str, ...]

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> RemoveLink:
        members(obj, path, ("links",))
        return cls(links=ids(obj["links"], join_path(path, "links")))

    def plain(self) -> dict[str, Any]:
        return {"links": list(self.links)}

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from _references("links", "link", self.links)

    def apply(self, problem: Problem) -> Problem:
        gone = frozenset(self.links)
        return replace(
            problem,
            links=tuple(link for link in problem.links if link.id not in gone),
            flows=tuple(
                replace(
                    flow,
                    link_costs={k: cost for k, cost in flow.link_costs.items() if k not in gone},
                    route={
                        node: replace(hop, link=None) if hop.link in gone else hop
                        for node, hop in flow.route.items()
                    },
                )
                if not gone.isdisjoint(flow.link_costs)
                or any(hop.link in gone for hop in flow.route.values())
                else flow
                for flow in problem.flows
            ),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        return Measure()
