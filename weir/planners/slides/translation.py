"""Slides as numbers <-> actions by name; where appends and detaches go among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weir.model.transformation import Move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from weir.model.transformation import Steps, Transformation
    from weir.planners.slides.arrays import Arrays
    from weir.transformation.reduction import Reduced


def as_moves(arrays: Arrays, slides: NDArray[np.int32]) -> list[Move]:
    """Translate slides from broker numbers to moves with broker names."""
    names = arrays.names.names
    return [
        Move(op="shift", broker=names[i], source=names[j], to=names[k])
        for i, j, k in slides.tolist()
    ]


def as_slides(reduced: Reduced, arrays: Arrays, steps: Steps) -> NDArray[np.int32] | None:
    """The slides of a plan that appends and detaches like `reduced`; None for any other plan."""
    moves = [move for step in steps for move in step]
    if any(move.op in ("move", "exchange") for move in moves):
        return None
    appends = {move for move in moves if move.op == "append"}
    detaches = {move for move in moves if move.op == "detach"}
    if appends != set(reduced.appends) or detaches != set(reduced.detaches):
        return None
    number = arrays.names.number
    rows = [
        (number[move.broker], number[move.source], number[move.to])
        for move in moves
        if move.op == "shift" and move.source is not None and move.to is not None
    ]
    return np.array(rows, np.int32).reshape(-1, 3)


def in_order(
    problem: Transformation,
    appends: Sequence[Move],
    core: Sequence[Move],
    detaches: Sequence[Move],
) -> list[Move]:
    """Appends first and detaches last; with a maximum degree as late and as soon as may be.

    A broker that is not there yet takes no room at its neighbour, nor does one that has gone.
    """
    if problem.options.max_degree is None or not (appends or detaches):
        return [*appends, *core, *detaches]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for at, move in enumerate(core):
        for broker in (move.broker, move.source, move.to):
            if broker is not None:
                first.setdefault(broker, at)
                last[broker] = at
    end = len(core)
    before: dict[int, list[Move]] = {}
    after: dict[int, list[Move]] = {}
    for move in reversed(appends):  # a host comes before those that hang at it
        at = first.get(move.broker, end)
        before.setdefault(at, []).insert(0, move)
        if move.to is not None:
            first[move.to] = min(first.get(move.to, end), at)
    for move in detaches:  # the outermost go first
        at = last.get(move.broker, -1)
        after.setdefault(at, []).append(move)
        if move.source is not None:
            last[move.source] = max(last.get(move.source, -1), at)
    moves = list(after.get(-1, []))
    for at, move in enumerate(core):
        moves += [*before.get(at, []), move, *after.get(at, [])]
    return moves + before.get(end, [])
