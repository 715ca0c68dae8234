"""LAMA, a general planner, on the PDDL of overlay transformation: through unified-planning.

LAMA (Richter, Westphal: The LAMA planner, JAIR 39, 2010. doi:10.1613/jair.2972) is part of Fast
Downward, whose wheel brings the program. It is anytime: each plan it reports is shorter than the
last. What unified-planning and Fast Downward's translator need counts as planning time.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from weir.actions import edge
from weir.model.transformation import Move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.model.transformation import Transformation

DOMAIN = Path(__file__).with_name("overlay.pddl")


def plans(problem: Transformation, limit_s: float) -> Iterator[tuple[Move, ...]]:
    """Better and better plans of one action after another, until the time is up or LAMA ends."""
    from unified_planning.io import PDDLReader
    from unified_planning.shortcuts import AnytimePlanner, get_environment

    end_s = time.monotonic() + limit_s
    get_environment().credits_stream = None
    names = {f"b{at}": broker for at, broker in enumerate(problem.brokers)}
    task = PDDLReader().parse_problem_string(DOMAIN.read_text(encoding="utf-8"), written(problem))
    with AnytimePlanner(name="fast-downward") as engine:
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            return
        for answer in engine.get_solutions(task, timeout=left_s):
            if answer.plan is None:
                continue
            triples = [
                [names[str(p)] for p in act.actual_parameters] for act in answer.plan.actions
            ]
            yield tuple(Move(op="shift", broker=i, source=j, to=k) for i, j, k in triples)


def written(problem: Transformation) -> str:
    """The problem in PDDL; brokers are b0, b1, ... in their order."""
    name = {broker: f"b{at}" for at, broker in enumerate(problem.brokers)}
    pairs = [(a, b) for a in problem.brokers for b in problem.brokers if a != b]
    facts = [f"(differ {name[a]} {name[b]})" for a, b in pairs]
    facts += [f"(spare {name[a]} {name[b]})" for a, b in pairs if edge(a, b) not in problem.goal]
    facts += [f"(conn {name[a]} {name[b]})" for a, b in pairs if edge(a, b) in problem.initial]
    wanted = [f"(conn {name[a]} {name[b]})" for a, b in sorted(problem.goal)]
    return "\n".join(
        [
            "(define (problem transformation) (:domain overlay)",
            f"(:objects {' '.join(name.values())} - broker)",
            "(:init",
            *facts,
            ")",
            "(:goal (and",
            *wanted,
            ")))",
        ]
    )
