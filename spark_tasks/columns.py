"""Parts of a problem as columns in Parquet, and back: what a task reads instead of the snapshot.

    flows-N, costs-N, classes-N     flow part N: its flows, their costs, their classes by flow
    nodes-N, admissions-N           node part N: its nodes and their classes by node
    shapes, knots, capacity         shared by all parts

One file per part, so that a task reads its own and nothing else.
"""

from typing import Any

import numpy as np

from spark_tasks.io import read_columns, write_columns
from weir.allocation.layout import Layout
from weir.optimizers.certified.partition import FlowPart, NodePart

SHAPE_COLUMNS = ("family", "exponent", "knot_first", "knot_last")
KNOT_COLUMNS = ("knot_x", "knot_y", "knot_slope")


def write_shared(folder: str, whole: Layout, capacity: np.ndarray) -> None:
    """Write the shapes, knots and capacities that every part needs."""
    write_columns(f"{folder}/shapes", {name: getattr(whole, name) for name in SHAPE_COLUMNS})
    write_columns(f"{folder}/knots", {name: getattr(whole, name) for name in KNOT_COLUMNS})
    write_columns(f"{folder}/capacity", {"capacity": capacity})


def write_flow_part(folder: str, number: int, at: FlowPart) -> None:
    """Write flow part `number`: its flows, their costs and their classes by flow."""
    layout = at.layout
    block = np.searchsorted(at.starts, np.arange(len(layout.rate_min)), side="right") - 1
    write_columns(
        f"{folder}/flows-{number}",
        {
            "rate_min": layout.rate_min,
            "rate_max": layout.rate_max,
            "mixed": layout.mixed,
            "costs": np.diff(layout.cost_start),
            "classes": np.diff(layout.class_start),
            "block": block,
        },
    )
    write_columns(f"{folder}/costs-{number}", {"row": layout.cost_row, "cost": layout.cost})
    write_columns(f"{folder}/classes-{number}", {**_classes(layout), "pair": at.class_pair})


def write_node_part(folder: str, number: int, at: NodePart) -> None:
    """Write node part `number`: its nodes and their classes by node."""
    write_columns(f"{folder}/nodes-{number}", {"classes": np.diff(at.node_start)})
    columns = {**_classes(at.layout), "flow": at.class_flow, "pair": at.class_pair}
    write_columns(f"{folder}/admissions-{number}", columns)


def read_flow_part(folder: str, number: int, pairs: int) -> FlowPart:
    """Read what `write_flow_part` wrote; `pairs` is the number of pairs of the part."""
    flows = read_columns(f"{folder}/flows-{number}")
    costs = read_columns(f"{folder}/costs-{number}")
    classes = read_columns(f"{folder}/classes-{number}")
    layout = Layout(
        rate_min=flows["rate_min"],
        rate_max=flows["rate_max"],
        cost_start=_starts(flows["costs"]),
        cost_row=costs["row"],
        cost=costs["cost"],
        class_start=_starts(flows["classes"]),
        mixed=flows["mixed"].astype(np.bool_),
        **_of_classes(classes),
        **_shared(folder),
    )
    return FlowPart(layout, _starts(np.bincount(flows["block"])), classes["pair"], pairs)


def read_node_part(folder: str, number: int, pairs: int) -> NodePart:
    """Return what a task needs of it: not where its classes and pairs are in the whole."""
    counts = read_columns(f"{folder}/nodes-{number}")["classes"]
    classes = read_columns(f"{folder}/admissions-{number}")
    none, zero = np.zeros(0), np.zeros(0, dtype=np.int64)
    layout = Layout(
        rate_min=none,
        rate_max=none,
        cost_start=_starts(zero),
        cost_row=zero,
        cost=none,
        class_start=_starts(zero),
        mixed=np.zeros(0, dtype=np.bool_),
        **_of_classes(classes),
        **_shared(folder),
    )
    return NodePart(
        layout=layout,
        class_flow=classes["flow"],
        class_pair=classes["pair"],
        class_at=zero,
        node_start=_starts(counts),
        pair_at=np.zeros(pairs, dtype=np.int64),
    )


def read_capacity(folder: str) -> np.ndarray:
    """Read the capacity of every row of the whole problem."""
    return read_columns(f"{folder}/capacity")["capacity"]


def _classes(layout: Layout) -> dict[str, Any]:
    kinds = layout.unit_costs.shape[1]
    return {
        "row": layout.class_row,
        "population_max": layout.population_max,
        "scale": layout.scale,
        "shape": layout.shape,
        **{f"work_{k}": layout.unit_costs[:, k] for k in range(kinds)},
    }


def _of_classes(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    kinds = sum(name.startswith("work_") for name in columns)
    work = np.empty((len(columns["row"]), kinds))
    for k in range(kinds):
        work[:, k] = columns[f"work_{k}"]
    return {
        "class_row": columns["row"],
        "population_max": columns["population_max"],
        "scale": columns["scale"],
        "shape": columns["shape"],
        "unit_costs": work,
    }


def _shared(folder: str) -> dict[str, Any]:
    return {**read_columns(f"{folder}/shapes"), **read_columns(f"{folder}/knots")}


def _starts(sizes: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
