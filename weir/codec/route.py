"""The way of a flow in a problem file: where it enters, and what lies behind what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weir.errors import InvalidProblem
from weir.model import Hop
from weir.reading import mapping, members, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def flow_source(value: object, path: str, nodes: Collection[str], whose: str) -> str | None:
    """Return the node at which the flow enters; None where it is left out."""
    if value is None:
        return None
    return _known(value, f"{path}.source", "node", nodes, whose)


def flow_route(
    obj: object,
    path: str,
    nodes: Collection[str],
    links: Collection[str],
    source: str | None,
    whose: str,
) -> Mapping[str, Hop]:
    """Return the hop that leads to each node; refuse what is no tree."""
    route: dict[str, Hop] = {}
    used: dict[str, str] = {}
    path = f"{path}.route"
    for node, entry in mapping(obj, path).items():
        _known(node, path, "node", nodes, whose)
        here = f"{path}.{node}"
        if node == source:
            raise InvalidProblem(here, f"the source cannot lie behind another node ({whose})")
        given = members(entry, here, ("from",), ("link",))
        upstream = _known(given["from"], f"{here}.from", "node", nodes, whose)
        link = given.get("link")
        if link is not None:
            link = _known(link, f"{here}.link", "link", links, whose)
            if link in used:
                raise InvalidProblem(
                    f"{here}.link",
                    f"link {shown(link)} already leads to {shown(used[link])} ({whose})",
                )
            used[link] = node
        route[node] = Hop(upstream=upstream, link=link)
    _refuse_circles(route, path, whose)
    return route


def _known(value: object, path: str, what: str, known: Collection[str], whose: str) -> str:
    if not isinstance(value, str):
        raise InvalidProblem(path, f"must be a string, not {shown(value)}")
    if value not in known:
        raise InvalidProblem(
            path,
            f"no {what} {shown(value)} ({whose}); add it to {what}s or correct the name",
        )
    return value


def _refuse_circles(route: Mapping[str, Hop], path: str, whose: str) -> None:
    fine: set[str] = set()
    for start in route:
        way: dict[str, None] = {}
        node = start
        while node in route and node not in fine:
            if node in way:
                raise InvalidProblem(f"{path}.{node}", f"lies behind itself ({whose})")
            way[node] = None
            node = route[node].upstream
        fine.update(way)
