"""Counts what was lost, doubled, reordered or made up. Pure; imports nothing of Weir."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happened to the messages of one flow on their way to one consumer."""

    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    """Messages that came after one with a higher number, duplicates apart."""
    phantom: int = 0
    """Messages that nobody published."""

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(
            delivered=self.delivered + other.delivered,
            lost=self.lost + other.lost,
            duplicated=self.duplicated + other.duplicated,
            reordered=self.reordered + other.reordered,
            phantom=self.phantom + other.phantom,
        )

    @property
    def clean(self) -> bool:
        """Nothing went wrong."""
        return not (self.lost or self.duplicated or self.reordered or self.phantom)


def judge(acknowledged: int, attempted: int, got: Sequence[int], strange: int = 0) -> Verdict:
    """Messages 1..`acknowledged` must have come, once and in order; up to `attempted` may have
    (sent, but the publisher never heard); nothing else. `strange`: messages of no number."""
    seen: set[int] = set()
    duplicated = reordered = phantom = highest = 0
    for number in got:
        if not 1 <= number <= attempted:
            phantom += 1
        elif number in seen:
            duplicated += 1
        else:
            seen.add(number)
            if number < highest:
                reordered += 1
            highest = max(highest, number)
    lost = sum(1 for number in range(1, acknowledged + 1) if number not in seen)
    return Verdict(
        delivered=len(seen),
        lost=lost,
        duplicated=duplicated,
        reordered=reordered,
        phantom=phantom + strange,
    )


def is_tree(nodes: Iterable[str], edges: Iterable[Sequence[str]]) -> bool:
    """Connected and without a circle."""
    group = {node: node for node in nodes}

    def root(node: str) -> str:
        while group[node] != node:
            node = group[node]
        return node

    count = 0
    for one, other in edges:
        a, b = root(one), root(other)
        if a == b:
            return False
        group[a] = b
        count += 1
    return count == len(group) - 1
