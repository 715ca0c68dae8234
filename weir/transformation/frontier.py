"""Few actions or few steps: the plans between which the choice is open.

Fewer steps often cost more actions. A plan is on the frontier when no other known plan has as few
of both and fewer of one. It is the frontier of the plans that were found, not of all plans: only
where a plan meets both lower bounds nothing else can be on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


def non_dominated(
    plans: Iterable[T], measures: Callable[[T], tuple[int, int, float]]
) -> tuple[T, ...]:
    """The plans on the frontier, fewest actions first.

    `measures` gives actions, steps, and what decides between plans equal in both: less is better,
    then the one given first.
    """
    kept: list[T] = []
    fewest = None
    for plan in sorted(plans, key=measures):
        steps = measures(plan)[1]
        if fewest is None or steps < fewest:
            kept.append(plan)
            fewest = steps
    return tuple(kept)
