"""`python -m tests.lives`: many lives of a whole system, or one with everything it does.

--seed 17 --trace        one life, line by line
--seeds 100000 --jobs 2  that many; stops after five seeds that violate an invariant
--mutants                which seed catches each of the broken variants
--fault twin             lives in which nothing else goes wrong (several: twin,lost)
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from functools import partial

from tests.lives.faults import FAULTS
from tests.lives.mutants import MUTANTS
from tests.lives.runs import caught_at, run_seed
from tests.lives.world import World

GIVE_UP = 5


def one(seed: int, world: type[World], *, trace: bool) -> int:
    """One life, told in full."""
    _, counts, violation = run_seed(seed, world(seed, print if trace else None))
    for name, count in sorted(counts.items()):
        print(f"  {name:28} {count}")
    print(f"VIOLATION {violation}" if violation else "every invariant held")
    return 1 if violation else 0


def many(seeds: range, jobs: int, kinds: tuple[str, ...]) -> int:
    """Many lives; sums of what happened."""
    started = time.perf_counter()
    total: Counter[str] = Counter()
    played = failures = 0
    with multiprocessing.Pool(jobs) as pool:
        for seed, counts, violation in pool.imap_unordered(
            partial(run_seed, kinds=kinds), seeds, chunksize=10
        ):
            total += counts
            played += 1
            if violation:
                failures += 1
                print(f"VIOLATION {violation}\n  replay: --seed {seed} --trace", flush=True)
                if failures == GIVE_UP:
                    break
    print(f"{played} lives in {time.perf_counter() - started:.1f} s, {failures} violations")
    for name, count in sorted(total.items()):
        print(f"  {name:28} {count}")
    return 1 if failures else 0


def mutants(seeds: int, jobs: int) -> int:
    """The broken variants."""
    survivors = 0
    with multiprocessing.Pool(jobs) as pool:
        names = sorted(MUTANTS)
        for name, (seed, how) in zip(
            names, pool.imap(partial(caught, seeds=seeds), names), strict=True
        ):
            survivors += seed is None
            outcome = "SURVIVES" if seed is None else f"seed {seed}"
            print(f"  {name:32} {outcome:10} {how}", flush=True)
    return 1 if survivors else 0


def caught(name: str, seeds: int) -> tuple[int | None, str]:
    """One of them."""
    return caught_at(MUTANTS[name], seeds)


def main() -> int:
    """Exit code 1 when an invariant did not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.lives",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, help="one life")
    parser.add_argument("--trace", action="store_true", help="say everything it does")
    parser.add_argument("--seeds", type=int, default=1000, help="how many lives")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--mutants", action="store_true", help="play the broken variants instead")
    parser.add_argument("--fault", help="the kinds of faults, with commas")
    args = parser.parse_args()
    if args.mutants:
        return mutants(args.seeds, args.jobs)
    kinds = tuple(args.fault.split(",")) if args.fault else World.kinds
    unknown = set(kinds) - FAULTS.keys()
    if unknown:
        parser.error(f"--fault: {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    if args.seed is not None:
        return one(args.seed, type("Chosen", (World,), {"kinds": kinds}), trace=args.trace)
    return many(range(args.first, args.first + args.seeds), args.jobs, kinds)


if __name__ == "__main__":
    sys.exit(main())
