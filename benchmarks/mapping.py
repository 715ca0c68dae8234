"""Maps of flows to streams and groups: cost and CPU time of every method beside plain GF's.

    python -m benchmarks.mapping [methods] [weights] [large] [drift]

Loads are the slides' market model. Plain GF is the slides' groups first in numpy, on the same load
in the same run. Costs are divided by its cost, CPU seconds are those of all threads.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks import plain_clustering
from benchmarks.plain_clustering import cost_of, random_cost_of
from weir.clustering import (
    clusterers,
    iterative,
    joint,
    random_restart,
)
from weir.clustering._improve import Watch
from weir.clustering.adaptive import curve, made_anew
from weir.clustering.cost import moved, moved_streams
from weir.clustering.loads import drifted, fan_out, large_load, market_load
from weir.model.mapping import NOWHERE, FlowMap, FormerMap, MappingProblem, Weights
from weir.warm_up import warm_up_mappings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SEEDS = (1, 2, 3)
SIZES = ((200, 20), (1000, 100), (1000, 250))
RATIOS = (0.1, 0.25, 0.5, 1.0)
"""Transport / (messaging x aggregation)."""
LONGEST_S = 60.0
"""CPU time after which a method is stopped that has not come to its end."""
LARGE = ((100_000, 1_000, 350, 1000, 100), (1_000_000, 10_000, 350, 10_000, 1000))
"""Flows, users, interests of a user, streams, groups."""
EFFORTS = (0.0, 100.0, 1000.0)
"""Of Weir's own method, beside the default."""
DRIFT = 0.1
MOVED = 0.1
"""Part of the flows that an adaptive map may move."""


def run(
    method: Any,
    problem: MappingProblem,
    seed: int,
    *,
    within_s: float = LONGEST_S,
    parameters: dict[str, Any] | None = None,
) -> tuple[FlowMap, float]:
    """Return the map of a method and the CPU seconds that it took."""
    began = time.process_time()
    mapped: FlowMap = method.cluster(
        problem,
        method.Params(**(parameters or {})),
        seed=seed,
        stop=lambda: time.process_time() - began >= within_s,
        report=lambda progress: None,
    )
    return mapped, time.process_time() - began


def weights_of(ratio: float) -> Weights:
    """Return the weights of this transport / (messaging x aggregation)."""
    return Weights(transport=8.0 * ratio, messaging=1.0, aggregation=8.0)


def print_methods() -> None:
    """Print every method at a twentieth of plain GF's time, at the same time, at its end."""
    print(f"methods: mean of seeds {SEEDS}, transport 2, messaging 1, aggregation 8")
    for streams, groups in SIZES:
        plain: list[tuple[float, float, float]] = []
        rows: dict[str, list[tuple[float, ...]]] = {}
        for seed in SEEDS:
            problem = market_load(seed, max_streams=streams, max_groups=groups)
            began = time.process_time()
            mapped = plain_clustering.groups_first(problem, seed)
            took, cost = time.process_time() - began, cost_of(problem, mapped)
            plain.append((cost, took, cost / random_cost_of(problem)))
            methods = [(name, method, {}) for name, method in clusterers().items()]
            methods += [
                (f"{joint.NAME}, effort {effort:g}", joint, {"effort": effort})
                for effort in EFFORTS
            ]
            for name, method, parameters in methods:
                row: list[float] = []
                for within_s in (took / 20, took, LONGEST_S):
                    mapped, used = run(
                        method, problem, seed, within_s=within_s, parameters=parameters
                    )
                    row += [cost_of(problem, mapped) / cost, used / took]
                rows.setdefault(name, []).append(tuple(row))
            for name, sorted_by in sklearn_methods().items():
                began = time.process_time()
                mapped = sorted_by(problem, seed)
                used = time.process_time() - began
                row = [float("nan")] * 4 + [cost_of(problem, mapped) / cost, used / took]
                rows.setdefault(name, []).append(tuple(row))
        cost, took, share = np.mean(plain, axis=0)
        print(
            f"  {streams} streams, {groups} groups: plain GF costs {cost:,.0f}, "
            f"{share:.3f} of random, in {took:.2f} CPU s"
        )
        print(f"    {'':<28}{'in 1/20 of its time':>20}{'in its time':>20}{'to its end':>20}")
        for name, all_of_them in rows.items():
            figures = np.mean(all_of_them, axis=0)
            worst = np.max(all_of_them, axis=0)
            cells = "".join(
                f"{figures[at]:10.3f}{f'({figures[at + 1]:.3f})':>10}"
                if figures[at] == figures[at]
                else " " * 20
                for at in (0, 2, 4)
            )
            print(f"    {name:<28}{cells}   worst {worst[4]:.3f}")
    if not sklearn_methods():
        print("  scikit-learn is not installed: its clusterings do not stand beside these")


def sklearn_methods() -> dict[str, Callable[[MappingProblem, int], FlowMap]]:
    """Return groups first by scikit-learn's k-means, by name; none where it is not installed."""
    if find_spec("sklearn") is None:
        return {}
    k_means = import_module("sklearn.cluster").KMeans
    normalize = import_module("sklearn.preprocessing").normalize
    too_few = import_module("sklearn.exceptions").ConvergenceWarning

    def groups_first_by_rows(problem: MappingProblem, seed: int, *, unit: bool) -> FlowMap:
        interests = problem.interests
        wanted = np.flatnonzero(interests.audiences)
        starts = np.append(interests.starts[wanted], interests.starts[-1])
        rows = csr_matrix(
            (np.ones(len(interests.users)), interests.users, starts),
            shape=(len(wanted), interests.user_count),
        )
        rows = normalize(rows) if unit else rows
        rates = problem.rates_per_s[wanted]

        def into(chosen: NDArray[np.int64], count: int) -> NDArray[np.int64]:
            if len(chosen) <= count:
                return np.arange(len(chosen))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", too_few)  # fewer different rows than clusters
                means = k_means(count, n_init=1, random_state=seed)
                labels = means.fit_predict(rows[chosen], sample_weight=rates[chosen])
            return np.asarray(labels, dtype=np.int64)

        group_of = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
        stream_of = np.full(len(problem.flows), NOWHERE, dtype=np.int64)
        labels = into(np.arange(len(wanted)), problem.max_groups)
        for group in range(problem.max_groups):
            flows = np.flatnonzero(labels == group)
            here = np.arange(group, problem.max_streams, problem.max_groups)
            if len(flows):
                stream_of[wanted[flows]] = here[into(flows, len(here))]
        used = np.unique(stream_of[wanted])
        group_of[used] = used % problem.max_groups
        return FlowMap(stream_of=stream_of, group_of=group_of)

    return {
        "scikit-learn GF": lambda problem, seed: groups_first_by_rows(problem, seed, unit=False),
        "scikit-learn GF, unit rows": lambda problem, seed: groups_first_by_rows(
            problem, seed, unit=True
        ),
    }


def print_weights() -> None:
    """Print Weir's own method beside the better of IT and RRA, for each weight of transport."""
    against = [iterative, random_restart]
    print(f"weights: {joint.NAME} / the better of IT and RRA, each to its end, seeds {SEEDS}")
    for streams, groups in SIZES:
        for ratio in RATIOS:
            cells = []
            for seed in SEEDS:
                problem = replace(
                    market_load(seed, max_streams=streams, max_groups=groups),
                    weights=weights_of(ratio),
                )
                costs = [cost_of(problem, run(each, problem, seed)[0]) for each in against]
                names = f"{'IT' if costs[0] <= costs[1] else 'RRA'} {min(costs):,.0f}"
                cost = cost_of(problem, run(joint, problem, seed)[0])
                cells.append(f"  {cost / min(costs):.3f} of {names}")
            print(f"  ({streams}, {groups}) transport share {ratio:<5}{''.join(cells)}")


def print_large() -> None:
    """Print the default method on large loads, each in a process of its own for its memory."""
    print(f"large: {joint.NAME}; elapsed seconds of the method, peak memory of the whole process")
    for size in LARGE:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.mapping", "--one", joint.NAME, *map(str, size)],
            check=True,
        )


def print_one(name: str, sizes: list[int]) -> None:
    """Print cost, seconds and memory of one method on one large load."""
    flows, users, interests, streams, groups = sizes
    began = time.perf_counter()
    problem = large_load(1, flows, users, interests, max_streams=streams, max_groups=groups)
    made = time.perf_counter() - began
    method = clusterers()[name]
    began, cpu = time.perf_counter(), time.process_time()
    mapped = method.cluster(
        problem, method.Params(), seed=1, stop=lambda: False, report=lambda progress: None
    )
    took, used = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"  {flows:,} flows x {users:,} users, {len(problem.interests.users):,} interests, fan-out "
        f"{fan_out(problem):.1f}, ({streams}, {groups}): {took:.1f} s, {used:.1f} CPU s, "
        f"{peak:.2f} GiB, {cost_of(problem, mapped) / random_cost_of(problem):.3f} of random; "
        f"load made in {made:.1f} s"
    )


def kept(problem: MappingProblem, former: FlowMap) -> FlowMap:
    """Return the former map of a changed load: each flow that is newly wanted where it adds least.

    What it adds is counted in its stream, as K-means does, from the heaviest such flow on.
    """
    interests = problem.interests
    wanted = interests.audiences > 0
    stream_of = np.where(wanted, former.stream_of, NOWHERE)
    served = np.zeros((interests.user_count, problem.max_streams), dtype=bool)
    flows = np.repeat(np.arange(len(wanted)), interests.audiences)
    mapped = stream_of[flows] != NOWHERE
    served[interests.users[mapped], stream_of[flows[mapped]]] = True
    carried = stream_of != NOWHERE
    rates = np.bincount(
        stream_of[carried], weights=problem.rates_per_s[carried], minlength=problem.max_streams
    )
    newly = np.flatnonzero(wanted & ~carried)
    for flow in newly[np.argsort(-problem.rates_per_s[newly], kind="stable")]:
        users = interests.users[interests.starts[flow] : interests.starts[flow + 1]]
        both = served[users].sum(axis=0)
        rate = problem.rates_per_s[flow]
        costs = rates * (len(users) - both) + rate * (served.sum(axis=0) - both)
        best = np.where(former.group_of == NOWHERE, np.inf, costs).argmin()
        stream_of[flow] = best
        served[users, best] = True
        rates[best] += rate
    group_of = np.full(problem.max_streams, NOWHERE, dtype=np.int64)
    used = np.unique(stream_of[wanted])
    group_of[used] = former.group_of[used]
    return FlowMap(stream_of=stream_of, group_of=group_of)


UNWATCHED = Watch(stop=lambda: False, report=lambda progress: None)


def part_of(count: int, flows: int) -> float:
    """Return a count of flows as a part of these; 0 of none."""
    return count / flows if flows else 0.0


def print_drift() -> None:
    """Print what a full remap gains after a drift, and how much of it few moves bring.

    The remap has the numbers of streams and groups with which most flows stay. Moved flows are
    given twice: as part of the flows mapped before and now, and as part of all flows of the load.
    """
    print(
        f"drift: {DRIFT:.0%} of the interests changed, rates with them; {joint.NAME}; "
        "moved flows of those mapped before and now / of all flows"
    )
    params = joint.Params()
    for streams, groups in SIZES:
        for seed in SEEDS:
            before = market_load(seed, max_streams=streams, max_groups=groups)
            old, _ = run(joint, before, seed)
            now = replace(
                drifted(before, DRIFT, seed),
                former=FormerMap(stream_of=old.stream_of, group_of=old.group_of),
            )
            trials = params.trials(now)
            stays = cost_of(now, kept(now, old))
            began = time.process_time()
            full = made_anew(now, trials=trials, seed=seed, watch=UNWATCHED)
            took = time.process_time() - began
            gain = stays - cost_of(now, full)
            remapped = np.count_nonzero((old.stream_of != NOWHERE) & (full.stream_of != NOWHERE))
            bases = (int(remapped), len(now.flows))
            parts = " / ".join(f"{part_of(moved(now, full), base):.1%}" for base in bases)
            print(
                f"  ({streams}, {groups}) seed {seed}: kept {stays:,.0f}, a full remap in "
                f"{took:.2f} CPU s saves {gain / stays:.1%}, moving {parts} of the flows "
                f"and {moved_streams(now, full)} streams"
            )
            began = time.process_time()
            maps = [
                point.flow_map
                for point in curve(now, trials=trials, seed=seed, watch=UNWATCHED).points
            ]
            took = time.process_time() - began
            shares = [(stays - cost_of(now, each)) / gain for each in maps]
            for base, name in zip(bases, ("flows mapped before and now", "flows"), strict=True):
                points = [
                    (share, part_of(moved(now, each), base), moved_streams(now, each))
                    for share, each in zip(shares, maps, strict=True)
                ]
                few = [point for point in points if point[1] <= MOVED]
                best = "none of that"
                if few:
                    share, flows, streams_moved = max(few)
                    best = f"{share:.0%} of that with {flows:.1%} and {streams_moved} streams moved"
                print(
                    f"    at most {MOVED:.0%} of all {base:,} {name}: {best}; curve "
                    + " ".join(f"{share:.0%}@{flows:.1%}" for share, flows, _ in points[::3])
                )
            print(f"    curve in {took:.2f} CPU s")


PARTS = {
    "methods": print_methods,
    "weights": print_weights,
    "large": print_large,
    "drift": print_drift,
}


def main() -> None:
    """Print the parts named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapping", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    warm_up_mappings()
    if given.one:
        print_one(given.one, [int(part) for part in given.parts])
        return
    for name in given.parts or PARTS:
        if name not in PARTS:
            parser.error(f"no part {name!r}; there are {', '.join(PARTS)}")
        PARTS[name]()


if __name__ == "__main__":
    main()
