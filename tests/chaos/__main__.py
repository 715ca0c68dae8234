"""`python -m tests.chaos --deliveries 1000000 --shifts 50 --kills 20`: the chaos run, any size."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.sabotage import SAFEGUARDS
from tests.chaos.scenario import Outcome, Scenario, Size


def report(outcome: Outcome) -> str:
    """The figures of a run as text."""
    verdict, pauses = outcome.verdict, sorted(outcome.pauses_s)
    at = lambda share: pauses[min(len(pauses) - 1, int(share * len(pauses)))] * 1000  # noqa: E731
    lines = [
        f"reliable: {verdict.delivered} delivered, {verdict.lost} lost, "
        f"{verdict.duplicated} duplicated, {verdict.reordered} reordered, "
        f"{verdict.phantom} phantom; {outcome.repeated} publishes repeated",
        f"best effort: {outcome.best_effort.delivered} delivered, "
        f"{outcome.best_effort.duplicated} duplicated, {outcome.best_effort.reordered} reordered",
        f"{outcome.shifts} shifts in {outcome.attempts} attempts; killed -9: {outcome.kills}",
        f"gate above b + r t by {outcome.gate_excess:.1f} messages as recorded; "
        f"at most {outcome.most_admitted} admitted",
    ]
    if pauses:
        lines.append(f"pause per shift and broker: p50 {at(0.5):.0f} ms, p99 {at(0.99):.0f} ms")
    if outcome.aborts:
        longest = max(abort[0] for abort in outcome.aborts)
        lines.append(f"{len(outcome.aborts)} aborts, decided within {longest:.2f} s")
    lines += [f"PROBLEM {problem}" for problem in outcome.problems]
    lines.append(f"{'FAILED' if outcome.problems else 'passed'} in {outcome.took_s:.1f} s")
    return "\n".join(lines)


def main() -> int:
    """0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=50_000)
    parser.add_argument("--shifts", type=int, default=10)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--rate", type=float, default=200.0, help="of each publisher, per second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--without", choices=SAFEGUARDS, default="", help="take a safeguard of the agents out"
    )
    parser.add_argument("--keep", type=Path, help="directory for everything; kept")
    options = parser.parse_args()
    size = Size(
        deliveries=options.deliveries,
        shifts=options.shifts,
        kills=options.kills,
        rate_per_s=options.rate,
        seed=options.seed,
        without=options.without,
    )
    with tempfile.TemporaryDirectory() as scratch:
        outcome = Scenario(options.keep or Path(scratch), size, say=print).run()
    print(report(outcome))
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
