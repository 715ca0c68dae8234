"""Writes the workloads of Lumezanu et al. (ICDCS 2006), tables 1 to 3, beside this file.

Run it again after a change: `python tests/golden/lrgp/generate.py`. A test compares the files
with what this script would write.

Readings: more flows are disjoint copies of the base system; more nodes are replicas of each
node together with its classes, at unchanged flows. Cost, capacity and rate bounds are those of
section 4.1. `expected.json` holds the published LRGP utilities and iterations, and the optimum
over whole populations, known from an exact search, which no feasible answer may exceed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent

# classes, flow, nodes, largest population, rank (table 1)
TABLE_1 = (
    ((0, 1), 0, (0, 2), 400, 20),
    ((2, 3), 0, (0, 2), 800, 5),
    ((4, 5), 0, (0, 2), 2000, 1),
    ((6, 7), 1, (0, 1), 1000, 15),
    ((8, 9), 2, (1, 2), 1500, 10),
    ((10, 11), 3, (0, 2), 400, 30),
    ((12, 13), 3, (0, 2), 800, 3),
    ((14, 15), 3, (0, 2), 2000, 2),
    ((16, 17), 4, (0, 1), 1000, 40),
    ((18, 19), 5, (1, 2), 1500, 100),
)
FLOWS, NODES = 6, 3
NODE_CAPACITY, FLOW_COST, CONSUMER_COST = 900_000, 3, 19
RATE_MIN, RATE_MAX = 10, 1000

# file: copies of the system, replicas of each node, exponent (None: logarithm),
#       published utility and iterations, best integral utility
BASE_OPTIMUM = 1_329_012.79
ROWS: dict[str, tuple[int, int, float | None, int, int, float]] = {
    "log-6-flows-3-nodes": (1, 1, None, 1_328_821, 21, BASE_OPTIMUM),
    "log-12-flows-6-nodes": (2, 1, None, 2_657_600, 21, 2 * BASE_OPTIMUM),
    "log-24-flows-12-nodes": (4, 1, None, 5_313_612, 24, 4 * BASE_OPTIMUM),
    "log-6-flows-6-nodes": (1, 2, None, 2_656_706, 22, 2 * BASE_OPTIMUM),
    "log-6-flows-12-nodes": (1, 4, None, 5_313_412, 22, 4 * BASE_OPTIMUM),
    "log-6-flows-24-nodes": (1, 8, None, 10_626_824, 22, 8 * BASE_OPTIMUM),
    "power-0.25": (1, 1, 0.25, 926_185, 23, 927_345.91),
    "power-0.5": (1, 1, 0.5, 2_003_225, 28, 2_014_065.92),
    "power-0.75": (1, 1, 0.75, 4_735_044, 39, 4_739_402.54),
}


def named(letter: str, number: int, *indices: int) -> str:
    """`S0` in the base system, `S0.1` in its first copy or replica."""
    return ".".join([f"{letter}{number}", *(str(index) for index in indices if index)])


def workload(copies: int, replicas: int, exponent: float | None) -> dict[str, Any]:
    """One problem in the allocation format."""
    nodes, flows, classes = [], [], []
    for copy in range(copies):
        for node in range(NODES):
            for replica in range(replicas):
                name = named("S", node, copy, replica)
                nodes.append({"id": name, "capacity": {"cpu": NODE_CAPACITY}})
        reached: dict[int, dict[str, dict[str, int]]] = {flow: {} for flow in range(FLOWS)}
        for numbers, flow, hosts, population, rank in TABLE_1:
            utility: dict[str, Any] = {"kind": "log", "weight": rank}
            if exponent is not None:
                utility = {"kind": "power", "weight": rank, "exponent": exponent}
            for number, node in zip(numbers, hosts, strict=True):
                for replica in range(replicas):
                    host = named("S", node, copy, replica)
                    reached[flow][host] = {"cpu": FLOW_COST}
                    classes.append(
                        {
                            "id": named("c", number, copy, replica),
                            "flow": named("f", flow, copy),
                            "node": host,
                            "population_max": population,
                            "costs": {"cpu": CONSUMER_COST},
                            "utility": utility,
                        }
                    )
        for flow in range(FLOWS):
            flows.append(
                {
                    "id": named("f", flow, copy),
                    "rate_min": RATE_MIN,
                    "rate_max": RATE_MAX,
                    "node_costs": reached[flow],
                    "link_costs": {},
                }
            )
    return {"resources": ["cpu"], "nodes": nodes, "links": [], "flows": flows, "classes": classes}


def text(problem: dict[str, Any]) -> str:
    """JSON with one entry per line, so that a difference can be read."""
    parts = []
    for key, entries in problem.items():
        lines = ",\n  ".join(json.dumps(entry) for entry in entries)
        parts.append(f'"{key}": [\n  {lines}]' if entries else f'"{key}": []')
    return "{" + ",\n ".join(parts) + "}\n"


def files() -> dict[str, str]:
    """Every file by name."""
    written = {
        f"{name}.json": text(workload(copies, replicas, exponent))
        for name, (copies, replicas, exponent, *_) in ROWS.items()
    }
    expected = {
        name: {
            "published_utility": utility,
            "published_iterations": iterations,
            "integral_optimum": round(optimum, 2),
        }
        for name, (_, _, _, utility, iterations, optimum) in ROWS.items()
    }
    written["expected.json"] = json.dumps(expected, indent=1) + "\n"
    return written


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
