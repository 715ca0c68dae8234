"""`python -m tests.e2e.chaos --deliveries 1000000`: a system of its own, then the chaos run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from config.stack import Stack
from tests.e2e.chaos.scenario import Scenario, Size
from tests.e2e.fleet import Fleet

STATE_DIR = Path(__file__).resolve().parents[3] / "var" / "chaos"


def main() -> int:
    """0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40, help="plans, each with one fault")
    parser.add_argument("--rate", type=float, default=150.0, help="of each publisher, per second")
    parser.add_argument("--longest-s", type=float, default=120.0, help="of a freeze or outage")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    stack = Stack(state_dir=STATE_DIR, given=dict(os.environ))
    stack.up()
    try:
        fleet = Fleet(stack, stack.environment()["WEIR_WEB_URL"])
        fleet.wait_live()
        size = Size(
            deliveries=options.deliveries,
            rounds=options.rounds,
            rate_per_s=options.rate,
            longest_s=options.longest_s,
            seed=options.seed,
        )
        outcome = Scenario(stack, fleet, size, say=print).run()
        fleet.close()
    finally:
        stack.down()
    print(outcome.report())
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
