"""The certified optimizer in one process against the same over parts on Spark, in the same run.

    python -m benchmarks.partitioned [classes ...] [--parts N]

Starts a Spark Connect server of its own in `var/bench`, cuts each problem and times one iteration
(prices to loads, and an allocation) of both, after a first one that loads and compiles. Workload:
that of `benchmarks.lrgp`, as arrays from the start, since reading files costs both the same.

Prints the time per iteration, what it is made of, and the crossing point: the size from which the
parts are faster. Where that was not reached it is extrapolated from straight lines through the two
largest sizes, and marked so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from config.stack import Stack
from spark_tasks.partitions import cores, cut_search
from spark_tasks.session import close, session
from weir.allocation.arrays import Arrays
from weir.allocation.curves import TermCurves
from weir.optimizers.certified.search import Search
from weir.utility import utility_from_dict

if TYPE_CHECKING:
    from collections.abc import Callable

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
DEFAULT_SIZES = (10_000, 100_000, 1_000_000)
CLASSES_PER_FLOW, CLASSES_PER_NODE, NODES_PER_FLOW = 10, 1000, 3
REPEATS = 5


class Timing(NamedTuple):
    """Seconds per iteration."""

    classes: int
    local_s: float
    parts_s: float
    cut_s: float
    """Once: writing the parts."""


def workload(classes: int, seed: int = 1) -> Arrays:
    """Random flows over three nodes each, in the proportions of the paper's base workload."""
    chance = np.random.default_rng(seed)
    flows, nodes = max(1, classes // CLASSES_PER_FLOW), max(3, classes // CLASSES_PER_NODE)
    classes = flows * CLASSES_PER_FLOW
    hosts = (chance.integers(0, nodes, flows)[:, None] + np.array([0, 1, 2])) % nodes
    class_flow = np.repeat(np.arange(flows), CLASSES_PER_FLOW)
    class_node = hosts[class_flow, np.arange(classes) % NODES_PER_FLOW]
    costs = sparse.csr_array(
        (
            np.full(flows * NODES_PER_FLOW, 3.0),
            (hosts.reshape(-1), np.repeat(np.arange(flows), NODES_PER_FLOW)),
        ),
        shape=(nodes, flows),
    )
    shape = utility_from_dict({"kind": "log", "weight": 1.0}).shape
    return Arrays(
        resources=("cpu",),
        flow_ids=tuple(f"f{i:08d}" for i in range(flows)),
        link_ids=(),
        node_ids=tuple(f"n{b:06d}" for b in range(nodes)),
        class_ids=tuple(f"c{j:09d}" for j in range(classes)),
        rate_min=np.full(flows, 10.0),
        rate_max=np.full(flows, 1000.0),
        link_capacity=np.zeros(0),
        link_costs=sparse.csr_array((0, flows)),
        node_capacity=np.full((nodes, 1), 900_000.0 * max(1, classes // (7 * nodes))),
        node_costs=costs,
        class_flow=class_flow,
        class_node=class_node,
        population_max=chance.choice([400.0, 800.0, 1000.0, 1500.0, 2000.0], classes),
        class_costs=np.full((classes, 1), 19.0),
        class_scale=chance.choice([1.0, 5.0, 20.0, 40.0, 100.0], classes),
        class_term=class_flow,
        term_flow=np.arange(flows),
        curves=TermCurves([shape] * flows),
    )


def best_of(action: Callable[[], object]) -> float:
    """Seconds of the fastest repeat."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def measure(spark: object, classes: int, parts: int) -> Timing:
    """Both engines over the same problem; their answers are compared as well."""
    arrays = workload(classes)
    folder = Path(tempfile.mkdtemp(prefix="partitioned-", dir=STATE_DIR))
    try:
        local = Search(arrays, None, min(2, os.cpu_count() or 1))
        start = time.perf_counter()
        cut = cut_search(spark, arrays, folder.as_uri(), parts, None)
        cut_s = time.perf_counter() - start
        for search in (local, cut):
            search.descend(with_primal=True)  # loads, compiles
        local_s = best_of(lambda: local.descend(with_primal=True))
        parts_s = best_of(lambda: cut.descend(with_primal=True))
        apart = abs(local.utility - cut.utility) / local.utility
        if not apart <= 1e-9 or abs(local.bound - cut.bound) > 1e-9 * local.bound:
            raise SystemExit(f"{classes:,} classes: the engines differ by {apart:.1e}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Timing(len(arrays.class_ids), local_s, parts_s, cut_s)


def crossing(timings: list[Timing]) -> str:
    """From where on the parts are faster."""
    for timing in timings:
        if timing.parts_s < timing.local_s:
            return f"crossing point: the parts are faster from {timing.classes:,} classes on"
    if len(timings) < 2:
        return "crossing point: not reached"
    one, two = timings[-2:]
    grown = two.classes - one.classes
    local_slope = (two.local_s - one.local_s) / grown
    parts_slope = (two.parts_s - one.parts_s) / grown
    words = f"crossing point: not reached at {two.classes:,} classes; "
    if parts_slope >= local_slope:
        return words + (
            "with this number of cores it never comes: a class costs "
            f"{1e9 * parts_slope:.0f} ns per iteration in parts, {1e9 * local_slope:.0f} ns in one "
            "process"
        )
    where = two.classes + (two.parts_s - two.local_s) / (local_slope - parts_slope)
    return words + f"extrapolated, not measured: {where:,.0f} classes"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("classes", nargs="*", type=int, default=list(DEFAULT_SIZES))
    parser.add_argument("--parts", type=int, help="default: the server's cores")
    options = parser.parse_args()
    stack = Stack(state_dir=STATE_DIR, parts=("spark",), given=dict(os.environ))
    stack.up()
    try:
        os.environ.update(stack.environment())
        spark = session(os.environ["WEIR_SPARK_REMOTE"])
        parts = options.parts or cores(spark)
        print(f"{parts} parts on Spark; best of {REPEATS} iterations, with an allocation each")
        print("  classes   one process ms   parts ms   ratio   cut once s")
        timings = []
        for classes in options.classes:
            timing = measure(spark, classes, parts)
            timings.append(timing)
            print(
                f"{timing.classes:9,} {1e3 * timing.local_s:16.1f} {1e3 * timing.parts_s:10.1f}"
                f" {timing.parts_s / timing.local_s:7.2f} {timing.cut_s:12.2f}"
            )
        print(crossing(timings))
    finally:
        close()
        stack.down()


if __name__ == "__main__":
    main()
