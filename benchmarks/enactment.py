"""From a person's approval to enforced rates: the whole system with the demo fleet, over REST.

    python -m benchmarks.enactment [--plans N]

Starts everything in `var/bench`, then for each plan: optimize, plan, submit; the clock starts with
the approval, the execution is asked for at once, and read is what the agents themselves see in
force at their brokers (every 50 ms). Baseline in the same run: one empty request to the same API,
the least that any of the steps could take.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

from config.stack import Stack
from tests.e2e.conftest import OF_OTHER_STACKS
from tests.e2e.fleet import Fleet

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "bench"
LIMIT_S = 60.0
LOOK_S = 0.05


def seen(fleet: Fleet, plan: Any) -> bool:
    """Whether every rate and limit of the plan is what its broker's agent observes."""
    enforced = fleet.enforced()
    for step in plan["steps"]:
        for action in step["actions"]:
            target, after = action["target"], action["after"] or {}
            there = enforced[target["broker"]]
            if action["kind"] == "set_flow_rate":
                if there["gates"].get(target["flow"]) != (after or None):
                    return False
            elif there["limits"].get(target["class"]) != after.get("limit"):
                return False
    return True


def enact(fleet: Fleet) -> tuple[float, float, float, int]:
    """Seconds from the approval until the execution was accepted, until all agents saw the new
    values, until the execution had ended; and how many actions it had."""
    fleet.shake()
    plan = fleet.plan(fleet.optimize())
    plan = fleet.command(fleet.author, plan, "submit")
    began = time.monotonic()
    plan = fleet.approve(plan)
    execution = fleet.execute(plan)
    accepted = time.monotonic()
    while not seen(fleet, plan):
        if time.monotonic() - began > LIMIT_S:
            raise SystemExit(f"{plan['name']}: not enforced after {LIMIT_S:.0f} s")
        time.sleep(LOOK_S)
    enforced = time.monotonic()
    done = fleet.wait_execution(execution, "succeeded")
    ended = time.monotonic()
    return accepted - began, enforced - began, ended - began, done["actions_total"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--plans", type=int, default=10)
    options = parser.parse_args()
    given = {k: v for k, v in os.environ.items() if k not in OF_OTHER_STACKS}
    stack = Stack(state_dir=STATE_DIR, given=given)
    stack.up()
    try:
        fleet = Fleet(stack, stack.environment()["WEIR_WEB_URL"])
        fleet.wait_live()
        fleet.policy(enactment_threshold=0, pace_s=0)
        if not fleet.gates():
            # The first plan of a fresh system limits everything; those after it are measured.
            fleet.wait_execution(fleet.execute(fleet.approved_plan()), "succeeded")
        rounds = [enact(fleet) for _ in range(options.plans)]
        empty = []
        for _ in range(50):
            began = time.monotonic()
            fleet.everybody.get("/api/v1/session")
            empty.append(time.monotonic() - began)
        fleet.close()
    finally:
        stack.down()
    print(f"{options.plans} plans of {median(row[3] for row in rounds):.0f} actions (median)")
    print("from the approval until ...                 median       worst   empty requests")
    names = ("the execution was accepted", "all agents saw it in force", "the execution had ended")
    for name, column in zip(names, zip(*rounds, strict=True), strict=False):
        ratio = median(column) / median(empty)
        print(f"{name:40}{median(column):>8.2f} s{max(column):>10.2f} s{ratio:>17.0f}")
    print(f"an empty request takes {median(empty) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
