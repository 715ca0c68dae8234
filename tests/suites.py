"""Run every suite of tests and print what each took beside its budget: `python -m tests.suites`.

The first suite that fails ends the run. Budgets are for two cores of a quiet machine; a run over
its budget is not a failure, it is something to look at.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "var" / "reports"
SLOWEST = 5


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that run as one, with what they may take."""

    name: str
    asks: str
    """What it finds out, in a few words."""
    arguments: tuple[str, ...]
    budget_s: int
    servers: bool = False
    """Whether each of its processes gets Postgres and Valkey of its own (tests/embedded.py)."""


OF_OTHERS = tuple(
    f"--ignore=tests/{room}" for room in ("weir", "simulation", "lives", "chaos", "e2e")
)
SUITES = (
    Suite(
        "kernels",
        "algorithms, and the simulation of agents and coordinator",
        ("tests/weir", "tests/simulation", "tests/lives", "-n2"),
        180,
    ),
    Suite(
        "server",
        "Django, agents on real brokers, Spark, set-up, documentation",
        (*OF_OTHERS, "-n2", "--dist=loadfile"),
        300,
        servers=True,
    ),
    Suite("chaos", "agents and brokers killed under load", ("tests/chaos",), 60),
    Suite(
        "journeys",
        "the whole system in a browser, and each process killed",
        ("tests/e2e", "--ignore=tests/e2e/test_chaos.py"),
        240,
    ),
    Suite("whole chaos", "the whole system killed under load", ("tests/e2e/test_chaos.py",), 60),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one suite."""

    suite: Suite
    seconds: float
    status: int
    tests: int
    slowest: tuple[tuple[float, str], ...]
    """Seconds and name of the tests that took longest."""


def run(suite: Suite) -> Outcome:
    """Run one suite; what it prints goes where ours goes."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{suite.name.replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", *suite.arguments, "--junitxml", str(report)]
    environment = dict(os.environ)
    if not suite.servers:
        environment["WEIR_TEST_SERVERS"] = "off"
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    took = time.monotonic() - began
    tests = sorted(durations(report), reverse=True) if report.exists() else []
    return Outcome(suite, took, status, len(tests), tuple(tests[:SLOWEST]))


def durations(report: Path) -> list[tuple[float, str]]:
    """Read seconds and name of each test from a report in the JUnit format."""
    cases = ElementTree.parse(report).iter("testcase")
    return [
        (float(case.get("time", 0)), f"{case.get('classname')}.{case.get('name')}")
        for case in cases
    ]


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as lines: suite, tests, seconds, budget, then the slowest tests."""
    lines = [f"{'suite':<14}{'tests':>7}{'seconds':>10}{'budget':>9}"]
    for outcome in outcomes:
        suite = outcome.suite
        over = "  over" if outcome.seconds > suite.budget_s else ""
        said = "" if outcome.status == 0 else "  failed"
        lines.append(
            f"{suite.name:<14}{outcome.tests:>7}{outcome.seconds:>10.0f}{suite.budget_s:>9}{over}{said}"
        )
    total = sum(outcome.seconds for outcome in outcomes)
    budget = sum(outcome.suite.budget_s for outcome in outcomes)
    tests = sum(outcome.tests for outcome in outcomes)
    lines.append(f"{'all':<14}{tests:>7}{total:>10.0f}{budget:>9}")
    lines += ["", "slowest"]
    for outcome in outcomes:
        lines += [f"{seconds:>8.1f} s  {name}" for seconds, name in outcome.slowest]
    return "\n".join(lines)


def main() -> int:
    """Run the suites named on the command line, or all; return the exit status."""
    known = {suite.name: suite for suite in SUITES}
    asked = sys.argv[1:] or list(known)
    for name in asked:
        if name not in known:
            print(f"error: no suite {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    outcomes: list[Outcome] = []
    for name in asked:
        outcomes.append(run(known[name]))
        if outcomes[-1].status != 0:
            break
    print(f"\n{table(outcomes)}", flush=True)
    return outcomes[-1].status


if __name__ == "__main__":
    sys.exit(main())
