r"""Whole publishers of each group for each broker, every cell within one of proportional.

Given how many publishers a group has (n_g) and a broker takes (c_b), cell (g, b) should hold n_g
c_b / n of them. Whole numbers x_gb with sum_b x_gb = n_g, sum_g x_gb = c_b and |x_gb - n_g c_b /
n| < 1 always exist, because the proportional cells are a flow with these integer bounds. They are
found in two steps: each row rounds up those of its cells whose brokers lag most, then augmenting
paths from a broker with too many to one with too few mend what is left (row g passes one on from
broker i to broker j where x_gi was rounded up and x_gj down). Both keep every cell between the
floor and the ceiling of its proportional amount.

Cost: O(groups x brokers) for the first step, and the same for each of the few paths of the second.

Reference: M. Bacharach. Matrix rounding problems. Management Science 12(9), 1966.
doi:10.1287/mnsc.12.9.732
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weir.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


@compiled
def round_cells(rows: Any, columns: Any, cells: Any, raised: Any) -> bool:
    """Fill `cells` with whole numbers; return whether all sums are kept.

    `raised`: 1 where a cell was rounded up, 0 where it was rounded down, 2 where nothing is to be
    rounded.
    """
    whole = 0
    for g in range(len(rows)):
        whole += rows[g]
    lag = np.zeros(len(columns))
    surplus = -columns.copy()
    for g in range(len(rows)):
        missing = rows[g]
        for b in range(len(columns)):
            product = rows[g] * columns[b]
            cells[g, b] = product // whole
            rest = product % whole
            raised[g, b] = 2 if rest == 0 else 0
            lag[b] += rest / whole
            missing -= cells[g, b]
            surplus[b] += cells[g, b]
        for _ in range(missing):
            best = -1
            for b in range(len(columns)):
                if raised[g, b] == 0 and (best < 0 or lag[b] > lag[best]):
                    best = b
            raised[g, best] = 1
            cells[g, best] += 1
            lag[best] -= 1.0
            surplus[best] += 1
    came_from = np.empty(len(columns), dtype=np.int64)
    by_row = np.empty(len(columns), dtype=np.int64)
    while True:
        source = -1
        for b in range(len(columns)):
            if surplus[b] > 0:
                source = b
                break
        if source < 0:
            return True
        came_from[:] = -1
        came_from[source] = source
        queue = [source]
        target = -1
        while len(queue) > 0 and target < 0:
            i = queue.pop(0)
            for g in range(len(rows)):
                if raised[g, i] != 1:
                    continue
                for j in range(len(columns)):
                    if raised[g, j] == 0 and came_from[j] < 0:
                        came_from[j] = i
                        by_row[j] = g
                        queue.append(j)
                        if surplus[j] < 0:
                            target = j
                            break
                if target >= 0:
                    break
        if target < 0:
            return False
        j = target
        while j != source:
            i, g = came_from[j], by_row[j]
            raised[g, i], raised[g, j] = 0, 1
            cells[g, i] -= 1
            cells[g, j] += 1
            j = i
        surplus[source] -= 1
        surplus[target] += 1


def proportional_cells(rows: Counts, columns: Counts) -> Counts:
    """Return whole numbers with these sums of rows and columns, each within one of proportional.

    Raises ValueError where the sums of both differ.
    """
    if int(rows.sum()) != int(columns.sum()):
        raise ValueError("rows and columns must have the same sum")
    cells = np.zeros((len(rows), len(columns)), dtype=np.int64)
    if not int(rows.sum()):
        return cells
    raised = np.zeros(cells.shape, dtype=np.int8)
    if not round_cells(rows, columns, cells, raised):
        raise AssertionError("a flow of whole numbers exists")
    return cells
