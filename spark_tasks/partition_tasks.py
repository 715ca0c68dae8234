"""Run the tasks of a partitioned computation.

A worker process reads a part when it first meets it and keeps it: iterations then move only prices,
rates and sums. A worker that died, or one that never saw the part, reads it again; a task is a
pure function of its arguments, so it does not matter which worker that is.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from spark_tasks.columns import read_capacity, read_flow_part, read_node_part
from weir.optimizers.certified.partition import admit_part, answer_part, sums
from weir.optimizers.certified.partitioned import Admission

KEPT_PROBLEMS = 2
"""Of how many problems a worker keeps parts; beyond, the one used longest ago is let go."""

_kept: "OrderedDict[str, dict[tuple[str, int], Any]]" = OrderedDict()


def kept(folder: str, name: str, number: int, read: Callable[[], Any]) -> Any:
    """Return the value of this name, read once per worker."""
    values = _kept.setdefault(folder, {})
    _kept.move_to_end(folder)
    while len(_kept) > KEPT_PROBLEMS:
        _kept.popitem(last=False)
    if (name, number) not in values:
        values[name, number] = read()
    return values[name, number]


def answer_task(folder: str, number: int, pairs: int, prices: np.ndarray) -> bytes:
    """Values, sizes and loads of the blocks, rates, and the sums of the wanted consumers."""
    at = kept(folder, "flows", number, lambda: read_flow_part(folder, number, pairs))
    answer, wanted = answer_part(at, prices)
    arrays = (answer.values, answer.sizes, answer.loads, answer.rates, *wanted)
    return np.concatenate([np.ravel(array) for array in arrays]).tobytes()


def admission_task(folder: str, number: int, pairs: int, asked: Admission) -> bytes:
    """Admit the consumers of one node part and return their sums per pair as bytes."""
    at = kept(folder, "nodes", number, lambda: read_node_part(folder, number, pairs))
    populations = _admitted(folder, at, asked)
    admitted = sums(at.layout, at.class_pair, pairs, populations)
    return np.concatenate([np.ravel(array) for array in admitted]).tobytes()


def population_task(folder: str, number: int, pairs: int, asked: Admission) -> bytes:
    """Admit the consumers of one node part and return their number per class as bytes."""
    at = kept(folder, "nodes", number, lambda: read_node_part(folder, number, pairs))
    return _admitted(folder, at, asked).tobytes()


def _admitted(folder: str, at: Any, asked: Admission) -> np.ndarray:
    capacity = kept(folder, "capacity", 0, lambda: read_capacity(folder))
    return admit_part(at, asked.rates, asked.weight, capacity, asked.loads)
