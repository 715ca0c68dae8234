"""How soon the certified optimizer has a good answer, beside 40 iterations of LRGP.

    python -m benchmarks.first_answer

On every logarithmic workload of the LRGP paper: the time from the call to the first feasible answer
of 0.9999 of the integral optimum, and the time of LRGP from the call to its 40th iteration, each
the best of some runs in the same process, in processor time, so that a busy machine changes little.
Ends with an error where a ratio is above 2.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from weir.codec import problem_from_json
from weir.optimizers import certified, lrgp
from weir.stop import after_iterations, at_utility

if TYPE_CHECKING:
    from weir.model import Problem

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "lrgp"
NEAR = 0.9999
LRGP_ITERATIONS = 40
REPEATS = 7
ALLOWED = 2.0


def lrgp_s(problem: Problem) -> float:
    """From the call to the end of the last of the iterations, settled or not."""
    begin = time.process_time()
    params = lrgp.Params(settle_tolerance=0.0)
    result = lrgp.solve(problem, params, stop=after_iterations(LRGP_ITERATIONS), seed=0)
    assert result.iterations == LRGP_ITERATIONS
    return time.process_time() - begin


def certified_s(problem: Problem, utility: float) -> tuple[float, int]:
    """From the call to the iteration whose feasible answer has this utility, and which that is."""
    begin = time.process_time()
    result = certified.solve(problem, certified.Params(), stop=at_utility(utility), seed=0)
    spent = time.process_time() - begin
    assert result.utility >= utility
    return spent, result.iterations


def main() -> None:
    """One line per workload."""
    expected = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
    names = [name for name in expected if name.startswith("log-")]
    worst = 0.0
    print(f"workload               LRGP x {LRGP_ITERATIONS} ms   {NEAR} ms   iteration   ratio")
    for name in names:
        problem = problem_from_json((GOLDEN / f"{name}.json").read_bytes())
        utility = NEAR * expected[name]["integral_optimum"]
        lrgp_s(problem), certified_s(problem, utility)  # code is loaded before anything is timed
        plain = min(lrgp_s(problem) for _ in range(REPEATS))
        own, iteration = min(certified_s(problem, utility) for _ in range(REPEATS))
        worst = max(worst, own / plain)
        print(f"{name:22s}{1e3 * plain:13.2f}{1e3 * own:12.2f}{iteration:12}{own / plain:8.2f}")
    if worst > ALLOWED:
        sys.exit(f"a first answer took {worst:.2f} of the time of LRGP; allowed: {ALLOWED:g}")


if __name__ == "__main__":
    main()
