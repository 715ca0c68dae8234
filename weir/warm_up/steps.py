"""Compiles the kernels that fill steps.

Every kernel has one set of
argument types, so one small problem reaches all of them; takes half a minute, then none.
"""

from __future__ import annotations

from weir.model.transformation import Options
from weir.planners.exact.direct_plan import direct
from weir.planners.slides.step_planning import improve_steps
from weir.transformation.workloads import paper_workload


def warm_up() -> int:
    """Plan a small problem in both meanings of parallel; the steps of both, which say it ran."""
    total = 0
    for parallel in ("broker-disjoint", "paper"):
        problem = paper_workload(
            brokers=40,
            seed=1,
            options=Options(parallel=parallel),
        )
        total += len(improve_steps(problem, direct(problem), stop=lambda p: p.round > 3, seed=0))
    return total
