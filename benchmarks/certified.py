"""The certified optimizer at scale, beside LRGP in the same run.

    python -m benchmarks.certified [--flows N] [--links L]

Prints what an iteration costs against one of the vectorised LRGP on the same problem, the memory
above the loaded problem, the iterations to 0.9999 of the bound, and how soon a start from former
prices has 0.999 of the new optimum after 1 % of the populations changed.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.lrgp import CLASSES_PER_FLOW
from benchmarks.lrgp import workload as node_workload
from weir.codec import problem_from_json
from weir.model import Start
from weir.optimizers import certified, lrgp
from weir.stop import Progress, after_iterations

if TYPE_CHECKING:
    from weir.model import Problem, Result

FLOWS = 100_000
LRGP_ITERATIONS = 10
ITERATIONS = 30
CHANGED = 0.01
NEAR, WARM_NEAR = 0.9999, 0.999


def resident_bytes(field: str) -> int:
    """`VmRSS` now or `VmHWM` at most since the last reset; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def reset_peak() -> None:
    """Forget the peak so far, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        print("(this system cannot reset the memory peak; the figure includes loading)")


class Watch:
    """Time and progress of every iteration."""

    def __init__(self) -> None:
        self.marks: list[float] = []
        self.seen: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.marks.append(time.perf_counter())
        self.seen.append(progress)

    @property
    def mean_s(self) -> float:
        """Per iteration, without the first, which prepares."""
        return (self.marks[-1] - self.marks[0]) / (len(self.marks) - 1)


def certify(problem: Problem, iterations: int, start: Start | None = None) -> tuple[Result, Watch]:
    """The prices alone: no polishing, so that iterations can be counted."""
    watch = Watch()
    params = certified.Params(max_iterations=iterations, exact_rounds=0, polish_steps=0)
    result = certified.solve(
        problem,
        params,
        stop=after_iterations(iterations),
        seed=0,
        on_progress=watch,
        start=start,
    )
    return result, watch


def with_changed_populations(problem: Problem, seed: int = 2) -> Problem:
    """The same system after 1 % of the classes changed between nothing and twice their size."""
    chance = random.Random(seed)
    classes = [
        replace(entry, population_max=int(entry.population_max * chance.uniform(0, 2)))
        if chance.random() < CHANGED
        else entry
        for entry in problem.classes
    ]
    return replace(problem, classes=tuple(classes))


def start_from(result: Result) -> Start:
    """Where a result left off."""
    return Start(
        node_prices=result.node_prices,
        link_prices=result.link_prices,
        rates=result.rates,
        populations=result.populations,
    )


def first_at(watch: Watch, share: float, bound: float) -> int | None:
    """The iteration whose best utility first reached this share of the bound."""
    found = (p.iteration for p in watch.seen if p.best_utility >= share * bound)
    return next(found, None)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flows", type=int, default=FLOWS)
    options = parser.parse_args()
    certify(problem_from_json(node_workload(100)), 5)  # compiled kernels are loaded
    problem: Any = problem_from_json(node_workload(options.flows * CLASSES_PER_FLOW))
    gc.collect()
    reset_peak()
    loaded = resident_bytes("VmRSS")
    result, watch = certify(problem, ITERATIONS)
    above = resident_bytes("VmHWM") - loaded
    print(f"{len(problem.flows):,} flows, {len(problem.classes):,} classes")
    bound = result.upper_bound or 0.0
    print(f"certified: {1e3 * watch.mean_s:.0f} ms per iteration, {above / 1e6:.0f} MB more memory")
    print(
        f"  utility / bound after {result.iterations} iterations: {result.utility / bound:.7f}; "
        f"{NEAR} at iteration {first_at(watch, NEAR, bound)}"
    )
    for tolerance in (1e-3, 1e-5):
        near = next(i for i, b in enumerate(result.bounds, 1) if b <= bound * (1 + tolerance))
        print(f"  bound within {tolerance:g} of its last value at iteration {near}")
    old = Watch()
    plain = lrgp.solve(
        problem,
        lrgp.Params(),
        stop=after_iterations(LRGP_ITERATIONS),
        seed=0,
        on_progress=old,
    )
    print(
        f"LRGP: {1e3 * old.mean_s:.0f} ms per iteration, {plain.utility / bound:.5f} of the bound"
    )
    print(f"  certified / LRGP time per iteration: {watch.mean_s / old.mean_s:.2f}")
    del plain
    changed = with_changed_populations(problem)
    warm, warm_watch = certify(changed, ITERATIONS, start_from(result))
    cold, cold_watch = certify(changed, ITERATIONS)
    bound = min(warm.upper_bound or 0.0, cold.upper_bound or 0.0)
    print(
        f"after {CHANGED:.0%} of populations changed: {WARM_NEAR} of the new bound at iteration "
        f"{first_at(warm_watch, WARM_NEAR, bound)} warm, {first_at(cold_watch, WARM_NEAR, bound)} "
        f"cold; {NEAR} at {first_at(warm_watch, NEAR, bound)} and "
        f"{first_at(cold_watch, NEAR, bound)}"
    )


if __name__ == "__main__":
    main()
