"""`python -m tests.simulation`: many seeds, or one with everything it does.

--seed 17 --trace        one run, line by line
--seeds 100000 --jobs 2  that many; stops after five seeds that violate an invariant
--mutants                which seed catches each of the broken variants
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter

from tests.simulation.mutants import MUTANTS
from tests.simulation.runs import NEVER_ZERO, caught_at, run_seed
from tests.simulation.world import World

GIVE_UP = 5


def one(seed: int, *, trace: bool) -> int:
    """One run, told in full."""
    world = World(seed, print if trace else None)
    _, counts, violation = run_seed(seed, world)
    for name, count in sorted(counts.items()):
        print(f"  {name:28} {count}")
    print(f"VIOLATION {violation}" if violation else "every invariant held")
    return 1 if violation else 0


def many(seeds: range, jobs: int) -> int:
    """Many runs; sums of what happened."""
    started = time.perf_counter()
    total: Counter[str] = Counter()
    played = failures = 0
    with multiprocessing.Pool(jobs) as pool:
        for seed, counts, violation in pool.imap_unordered(run_seed, seeds, chunksize=20):
            total += counts
            played += 1
            if violation:
                failures += 1
                print(f"VIOLATION {violation}\n  replay: --seed {seed} --trace", flush=True)
                if failures == GIVE_UP:
                    break
    print(f"{played} seeds in {time.perf_counter() - started:.1f} s, {failures} violations")
    for name, count in sorted(total.items()):
        print(f"  {name:28} {count}")
    never = [name for name in NEVER_ZERO if not total[name]] if played >= 1000 else []
    if never:
        print(f"never happened: {', '.join(never)}")
    return 1 if failures or never else 0


def mutants(seeds: int) -> int:
    """The broken variants."""
    survivors = 0
    for name, world in MUTANTS.items():
        seed, how = caught_at(world, seeds)
        survivors += seed is None
        print(f"  {name:32} {'SURVIVES' if seed is None else f'seed {seed}':10} {how}", flush=True)
    return 1 if survivors else 0


def main() -> int:
    """Exit code 1 when an invariant did not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, help="one run")
    parser.add_argument("--trace", action="store_true", help="say everything it does")
    parser.add_argument("--seeds", type=int, default=1000, help="how many runs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--mutants", action="store_true", help="run the broken variants instead")
    args = parser.parse_args()
    if args.mutants:
        return mutants(args.seeds)
    if args.seed is not None:
        return one(args.seed, trace=args.trace)
    return many(range(args.first, args.first + args.seeds), args.jobs)


if __name__ == "__main__":
    sys.exit(main())
