"""Whether links form a tree, and what is wrong with them where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from networkx.utils import UnionFind

from weir.errors import InvalidProblem
from weir.transformation.moves import neighbours, path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model.transformation import Edge


def check_tree(links: Mapping[Edge, int], name: str) -> None:
    """Raise InvalidProblem naming the entry that closes a cycle, or two parts without a link.

    `links` holds each link with its place in the list `name`. Brokers without any link are not
    part of the tree.
    """
    parts: UnionFind[str] = UnionFind()
    so_far: list[Edge] = []
    for (a, b), at in links.items():
        if parts[a] == parts[b]:
            around = " - ".join(path(neighbours(frozenset(so_far)), a, b))
            raise InvalidProblem(
                f"{name}[{at}]",
                f"closes a cycle with {around}; an overlay is a tree: leave one link out",
            )
        parts.union(a, b)
        so_far.append((a, b))
    first = sorted(min(part) for part in parts.to_sets())
    if len(first) > 1:
        one, two = first[:2]
        raise InvalidProblem(name, f'no way from "{one}" to "{two}": {len(first)} parts; link them')
