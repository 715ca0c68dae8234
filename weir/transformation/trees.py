"""Whether links form a tree, and what is wrong with them where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    root: dict[str, str] = {}

    def find(broker: str) -> str:
        root.setdefault(broker, broker)
        while root[broker] != broker:
            root[broker] = broker = root[root[broker]]
        return broker

    so_far: list[Edge] = []
    for link, at in links.items():
        a, b = find(link[0]), find(link[1])
        if a == b:
            around = " - ".join(path(neighbours(frozenset(so_far)), *link))
            raise InvalidProblem(
                f"{name}[{at}]",
                f"closes a cycle with {around}; an overlay is a tree: leave one link out",
            )
        root[a] = b
        so_far.append(link)
    parts = {find(broker): broker for broker in sorted(root, reverse=True)}
    if len(parts) > 1:
        one, two = sorted(parts.values())[:2]
        raise InvalidProblem(name, f'no way from "{one}" to "{two}": {len(parts)} parts; link them')
