"""Edits of capacity: of nodes (one, a group, all) and of links."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from weir.errors import InvalidProblem, join_path
from weir.reading import members
from weir.scenarios._protocol import Measure
from weir.scenarios._reading import ids_or_all, scale_or_set, text, within_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from weir.model import Problem, Result


def _references(
    field: str, what: str, ids: tuple[str, ...] | None
) -> Iterator[tuple[str, str, str]]:
    for index, name in enumerate(ids or ()):
        yield f"{field}[{index}]", what, name


def priced(pairs: Iterable[tuple[float, float]]) -> Measure:
    """Total of (capacity, price) pairs, and the worth of one more unit spread in proportion.

    Growing all in proportion by one unit in total gives each its share c / sum of c, so the
    worth is the mean price weighted by capacity; where all are 0, the highest price.
    """
    held = list(pairs)
    if not held:
        return Measure()
    total = math.fsum(capacity for capacity, _ in held)
    if total > 0:
        return Measure(quantity=total, marginal=math.fsum(c / total * p for c, p in held))
    return Measure(quantity=0.0, marginal=max(price for _, price in held))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """Scale or set the capacity of nodes, of one resource or of all."""

    KIND: ClassVar[str] = "node_capacity"
    NUMBERS: ClassVar[tuple[str, ...]] = ("scale", "set")
    NAMES: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: tuple[str, ...] | None = None
    """None: all."""
    resource: str | None = None
    """None: all; to set a capacity of a problem with several resources, one must be named."""
    scale: float | None = None
    set: float | None = None

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> NodeCapacity:
        members(obj, path, ("nodes",), ("resource", "scale", "set"))
        scale, fixed = scale_or_set(obj, path)
        resource = obj.get("resource")
        return cls(
            nodes=ids_or_all(obj["nodes"], join_path(path, "nodes")),
            resource=None if resource is None else text(resource, join_path(path, "resource")),
            scale=scale,
            set=fixed,
        )

    def plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"nodes": "all" if self.nodes is None else list(self.nodes)}
        if self.resource is not None:
            plain["resource"] = self.resource
        return plain | _amount(self)

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from _references("nodes", "node", self.nodes)
        if self.resource is not None:
            yield "resource", "resource", self.resource

    def apply(self, problem: Problem) -> Problem:
        if self.set is not None and self.resource is None and len(problem.resources) > 1:
            known = ", ".join(problem.resources)
            raise InvalidProblem("resource", f"say which resource to set; there are {known}")
        chosen = None if self.nodes is None else frozenset(self.nodes)
        return replace(
            problem,
            nodes=tuple(
                replace(
                    node,
                    capacity={
                        name: (
                            _edited(self, capacity, f"{name} capacity of node {node.id}")
                            if self.resource in (None, name)
                            else capacity
                        )
                        for name, capacity in node.capacity.items()
                    },
                )
                if chosen is None or node.id in chosen
                else node
                for node in problem.nodes
            ),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        resources = problem.resources if self.resource is None else (self.resource,)
        if len(resources) != 1:  # CPU units and bytes have no sum
            return Measure()
        chosen = None if self.nodes is None else frozenset(self.nodes)
        resource = resources[0]
        return priced(
            (node.capacity[resource], result.node_prices.get(node.id, {}).get(resource, 0.0))
            for node in problem.nodes
            if chosen is None or node.id in chosen
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCapacity:
    """Scale or set the capacity of links."""

    KIND: ClassVar[str] = "link_capacity"
    NUMBERS: ClassVar[tuple[str, ...]] = ("scale", "set")
    NAMES: ClassVar[tuple[str, ...]] = ("links",)

    links: tuple[str, ...] | None = None
    """None: all."""
    scale: float | None = None
    set: float | None = None

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> LinkCapacity:
        members(obj, path, ("links",), ("scale", "set"))
        scale, fixed = scale_or_set(obj, path)
        links = ids_or_all(obj["links"], join_path(path, "links"))
        return cls(links=links, scale=scale, set=fixed)

    def plain(self) -> dict[str, Any]:
        return {"links": "all" if self.links is None else list(self.links)} | _amount(self)

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        yield from _references("links", "link", self.links)

    def apply(self, problem: Problem) -> Problem:
        chosen = None if self.links is None else frozenset(self.links)
        return replace(
            problem,
            links=tuple(
                replace(link, capacity=_edited(self, link.capacity, f"capacity of link {link.id}"))
                if chosen is None or link.id in chosen
                else link
                for link in problem.links
            ),
        )

    def measure(self, problem: Problem, result: Result) -> Measure:
        chosen = None if self.links is None else frozenset(self.links)
        return priced(
            (link.capacity, result.link_prices.get(link.id, 0.0))
            for link in problem.links
            if chosen is None or link.id in chosen
        )


def _amount(edit: NodeCapacity | LinkCapacity) -> dict[str, float]:
    return {"scale": edit.scale} if edit.scale is not None else {"set": edit.set or 0.0}


def _edited(edit: NodeCapacity | LinkCapacity, capacity: float, what: str) -> float:
    if edit.scale is None:
        return edit.set or 0.0
    return within_range(capacity * edit.scale, "scale", what)
