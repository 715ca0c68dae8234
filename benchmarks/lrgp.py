"""LRGP: the vectorised kernel against the plain transcription, in the same run.

    python -m benchmarks.lrgp [classes ...]

Prints the time per iteration of both and their ratio, so that the numbers mean something on
any machine, then what parsing, hashing and preparing a problem cost beside one iteration.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.plain_lrgp import lrgp as plain_lrgp
from weir.allocation.arrays import to_arrays
from weir.codec import content_hash, problem_from_json
from weir.optimizers import lrgp
from weir.stop import after_iterations

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_SIZES = (100, 10_000, 100_000)
ITERATIONS = 20
CLASSES_PER_FLOW = 10
CLASSES_PER_NODE = 1000
REPEATS = 3


def workload(classes: int, seed: int = 1) -> bytes:
    """Random flows over three nodes each, in the proportions of the paper's base workload."""
    chance = random.Random(seed)
    nodes = max(3, classes // CLASSES_PER_NODE)
    flows, entries = [], []
    for index in range(max(1, classes // CLASSES_PER_FLOW)):
        hosts = [f"n{at}" for at in chance.sample(range(nodes), 3)]
        flow = f"f{index}"
        flows.append(
            {
                "id": flow,
                "rate_min": 10,
                "rate_max": 1000,
                "node_costs": {host: {"cpu": 3} for host in hosts},
                "link_costs": {},
            }
        )
        for part in range(CLASSES_PER_FLOW):
            entries.append(
                {
                    "id": f"c{index}.{part}",
                    "flow": flow,
                    "node": hosts[part % 3],
                    "population_max": chance.choice([400, 800, 1000, 1500, 2000]),
                    "costs": {"cpu": 19},
                    "utility": {"kind": "log", "weight": chance.choice([1, 5, 20, 40, 100])},
                }
            )
    capacity = {"cpu": 900_000 * max(1, len(entries) // (7 * nodes))}
    problem: dict[str, Any] = {
        "resources": ["cpu"],
        "nodes": [{"id": f"n{at}", "capacity": capacity} for at in range(nodes)],
        "links": [],
        "flows": flows,
        "classes": entries,
    }
    return json.dumps(problem).encode()


def seconds(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The best of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def main(sizes: list[int]) -> None:
    """Print one line per size."""
    print(f"{ITERATIONS} iterations, best of {REPEATS} runs; times per iteration in ms")
    print("classes       plain      kernel   plain/kernel   parse s   hash s   arrays s")
    for size in sizes:
        raw = workload(size)
        problem = problem_from_json(raw)
        once = 1 if size >= 10_000 else REPEATS
        parse_s = seconds(partial(problem_from_json, raw), once)
        hash_s = seconds(partial(content_hash, problem), once)
        arrays_s = seconds(partial(to_arrays, problem), once)

        marks: list[float] = []

        def kernel(problem: Any = problem, marks: list[float] = marks) -> None:
            marks.clear()
            lrgp.solve(
                problem,
                lrgp.Params(),
                stop=after_iterations(ITERATIONS + 1),
                seed=0,
                on_progress=lambda _: marks.append(time.perf_counter()),
            )

        kernel_s = float("inf")
        for _ in range(REPEATS):
            kernel()
            kernel_s = min(kernel_s, (marks[-1] - marks[0]) / (len(marks) - 1))
        plain_s = seconds(partial(plain_lrgp, problem, ITERATIONS), once)
        plain_s /= ITERATIONS
        print(
            f"{size:9,} {1e3 * plain_s:11.2f} {1e3 * kernel_s:11.2f} {plain_s / kernel_s:12.1f} x"
            f" {parse_s:9.2f} {hash_s:8.2f} {arrays_s:8.2f}"
        )


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or list(DEFAULT_SIZES))
