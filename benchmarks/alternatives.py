"""What a user would reach for instead: SCIP and scipy against Weir, side by side.

    python -m benchmarks.alternatives [seconds]

On the base workload (table 1 of the LRGP paper) with a logarithm and with r^0.5, and on small
random instances: utility, share of the best known bound, own bound and time of each method.

* SCIP gets the whole problem as a mixed-integer nonlinear program and `seconds` per instance
  (default 20). What it found is made feasible to Weir's tolerance before it is counted.
* SLSQP solves the relaxation to real populations from two starts; they are rounded down and
  what is left is offered again.
* Differential evolution searches the rates; every trial admits consumers greedily.

SCIP comes with the development packages.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize

from benchmarks import scip
from weir.allocation.arrays import to_arrays
from weir.allocation.feasibility import fitted
from weir.codec import problem_from_dict, problem_from_json
from weir.optimizers import certified, lrgp
from weir.optimizers.lrgp.admission import Admission
from weir.stop import never

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from weir.allocation.arrays import Arrays
    from weir.model import Problem

    FloatArray = npt.NDArray[np.float64]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "lrgp"
DEFAULT_SECONDS = 20.0
RANDOM_INSTANCES = 3
FILL_ROUNDS = 64
EVOLUTION_GENERATIONS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the table."""

    method: str
    utility: float | None
    upper_bound: float | None
    seconds: float


def random_instance(seed: int) -> Problem:
    """Six flows over three nodes with two resources, a link, twelve classes of mixed kinds."""
    chance = random.Random(seed)
    flows = [
        {
            "id": f"f{i}",
            "rate_min": 1,
            "rate_max": 500,
            "node_costs": {f"n{b}": {"cpu": 3, "net": 1} for b in range(3)},
            "link_costs": {"l": chance.choice([1, 2])},
        }
        for i in range(6)
    ]
    classes = [
        {
            "id": f"c{j}",
            "flow": f"f{j % 6}",
            "node": f"n{chance.randrange(3)}",
            "population_max": chance.choice([5, 20, 60]),
            "costs": {"cpu": chance.choice([5, 19]), "net": chance.choice([2, 8])},
            "utility": {"kind": "log", "weight": chance.choice([1, 5, 20, 100])}
            if chance.random() < 0.5
            else {"kind": "power", "weight": chance.choice([1, 5, 20]), "exponent": 0.5},
        }
        for j in range(12)
    ]
    return problem_from_dict(
        {
            "resources": ["cpu", "net"],
            "nodes": [{"id": f"n{b}", "capacity": {"cpu": 20_000, "net": 9_000}} for b in range(3)],
            "links": [{"id": "l", "capacity": 900}],
            "flows": flows,
            "classes": classes,
        }
    )


def enacted(arrays: Arrays, rates: FloatArray, populations: FloatArray) -> float:
    """Utility after rates are made to fit and consumers that do not fit are sent away."""
    rates = fitted(arrays, np.clip(rates, arrays.rate_min, arrays.rate_max))
    populations = np.clip(np.floor(populations + 1e-6), 0, arrays.population_max)
    load = arrays.flow_loads(rates)
    work = arrays.class_costs * rates[arrays.class_flow][:, None]
    room = arrays.node_capacity - load
    for j in np.argsort(-arrays.worth(rates) / np.maximum(work.max(axis=1), 1e-300)):
        at = arrays.class_node[j]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(work[j] > 0, np.floor(room[at] / work[j] + 1e-9), np.inf).min()
        populations[j] = max(0.0, min(populations[j], most))
        room[at] -= populations[j] * work[j]
    greedy = Admission(arrays)(rates, np.zeros_like(arrays.node_capacity), rounds=FILL_ROUNDS)
    return max(arrays.utility(rates, populations), arrays.utility(rates, greedy.populations))


def by_weir(problem: Problem, method: Any) -> tuple[float | None, float | None]:
    """One of Weir's optimizers with its own criteria."""
    result = method.solve(problem, method.Params(), stop=never, seed=0)
    return result.utility, result.upper_bound


def by_scip(problem: Problem, seconds: float) -> tuple[float | None, float | None]:
    """Branch and cut on the nonlinear program."""
    answer = scip.solve(problem, seconds=seconds)
    if not answer.rates:
        return None, answer.upper_bound
    arrays = to_arrays(problem)
    rates = np.array([answer.rates[name] for name in arrays.flow_ids])
    populations = np.array([answer.populations[name] for name in arrays.class_ids], dtype=float)
    return enacted(arrays, rates, populations), answer.upper_bound


def by_slsqp(problem: Problem) -> tuple[float | None, float | None]:
    """The relaxation, all variables scaled to [0, 1]; the better of two starts."""
    arrays = to_arrays(problem)
    flows = len(arrays.flow_ids)
    span = np.maximum(arrays.rate_max - arrays.rate_min, 1e-12)

    def split(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return arrays.rate_min + span * x[:flows], arrays.population_max * x[flows:]

    def slack(x: FloatArray) -> FloatArray:
        rates, populations = split(x)
        load = arrays.flow_loads(rates)
        messages = populations * rates[arrays.class_flow]
        for k in range(load.shape[1]):
            load[:, k] += np.bincount(
                arrays.class_node, arrays.class_costs[:, k] * messages, len(load)
            )
        links = 1 - (arrays.link_costs @ rates) / arrays.link_capacity
        return np.concatenate([(1 - load / arrays.node_capacity).reshape(-1), links])

    best = None
    for start in (0.05, 0.4):
        x = np.full(flows + len(arrays.class_ids), start)
        scale = max(arrays.utility(*split(x)), 1e-12)
        found = optimize.minimize(
            lambda x, scale=scale: -arrays.utility(*split(x)) / scale,
            x,
            bounds=[(0, 1)] * len(x),
            constraints=[{"type": "ineq", "fun": slack}],
            method="SLSQP",
            options={"maxiter": 300},
        )
        utility = enacted(arrays, *split(np.clip(found.x, 0, 1)))
        best = utility if best is None else max(best, utility)
    return best, None


def by_evolution(problem: Problem) -> tuple[float | None, float | None]:
    """Differential evolution over the logarithms of the rates."""
    arrays = to_arrays(problem)
    admit = Admission(arrays)
    prices = np.zeros_like(arrays.node_capacity)

    def cost(x: FloatArray) -> float:
        rates = fitted(arrays, np.clip(np.exp(x), arrays.rate_min, arrays.rate_max))
        return -arrays.utility(rates, admit(rates, prices, rounds=4).populations)

    low = np.log(np.maximum(arrays.rate_min, 1e-3))
    found = optimize.differential_evolution(
        cost,
        list(zip(low, np.log(arrays.rate_max), strict=True)),
        maxiter=EVOLUTION_GENERATIONS,
        seed=1,
    )
    return -float(found.fun), None


def compare(problem: Problem, seconds: float) -> list[Outcome]:
    """Every method on one problem."""
    methods: list[tuple[str, Callable[[], tuple[float | None, float | None]]]] = [
        ("certified", lambda: by_weir(problem, certified)),
        ("lrgp", lambda: by_weir(problem, lrgp)),
        ("SCIP", lambda: by_scip(problem, seconds)),
        ("SLSQP, rounded", lambda: by_slsqp(problem)),
        ("diff. evolution", lambda: by_evolution(problem)),
    ]
    outcomes = []
    for name, run in methods:
        begin = time.perf_counter()
        utility, bound = run()
        outcomes.append(
            Outcome(
                method=name,
                utility=utility,
                upper_bound=bound,
                seconds=time.perf_counter() - begin,
            )
        )
    return outcomes


def main(seconds: float) -> None:
    """One table per instance."""
    instances = [
        (name, problem_from_json((GOLDEN / f"{name}.json").read_bytes()))
        for name in ("log-6-flows-3-nodes", "power-0.5")
    ]
    instances += [(f"random {seed}", random_instance(seed)) for seed in range(RANDOM_INSTANCES)]
    by_weir(random_instance(99), certified)  # compiled code is loaded before anything is timed
    for name, problem in instances:
        outcomes = compare(problem, seconds)
        bounds = [outcome.upper_bound for outcome in outcomes if outcome.upper_bound is not None]
        bound = min(bounds)
        print(f"\n{name}: {len(problem.flows)} flows, {len(problem.classes)} classes")
        print("method                   utility   of best bound           own bound     time s")
        for outcome in outcomes:
            utility = "-" if outcome.utility is None else f"{outcome.utility:,.2f}"
            share = "-" if outcome.utility is None else f"{outcome.utility / bound:.7f}"
            own = "-" if outcome.upper_bound is None else f"{outcome.upper_bound:,.2f}"
            print(f"{outcome.method:16s}{utility:>16}{share:>16}{own:>20}{outcome.seconds:>11.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SECONDS)
