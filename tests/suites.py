"""Run every suite of tests and print what each took beside its budget: `python -m tests.suites`.

A suite that fails ends the run. Budgets are for two cores of a quiet machine; in `make test` a
suite over its budget is something to look at, no failure.
`--thorough` runs the long parts as well, whatever fails, and a suite over its budget fails there.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "var" / "reports"
SLOWEST = 5
CORES = str(os.cpu_count() or 2)
THOROUGH = "WEIR_THOROUGH"

T = TypeVar("T")


def is_thorough() -> bool:
    """Return whether there is time for everything: `make thorough`."""
    return os.environ.get(THOROUGH) == "1"


def effort(usual: T, thorough: T) -> T:
    """Return how much a test tries: the first in `make test`, the second in `make thorough`."""
    return thorough if is_thorough() else usual


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that run as one, with what they may take."""

    name: str
    asks: str
    """What it finds out, in a few words."""
    command: tuple[str, ...]
    """A module that Python runs, and its arguments."""
    budget_s: int | None = None
    """None: it takes as long as it takes."""
    servers: bool = False
    """Whether each of its processes gets Postgres and Valkey of its own (tests/embedded.py)."""
    thorough: bool = False
    """Whether its tests try all that there is time for (`effort`, and the mark `thorough`)."""


OF_OTHERS = tuple(f"--ignore=tests/{room}" for room in ("weir", "weir_client", "lives", "e2e"))
SUITES = (
    Suite(
        "kernels",
        "algorithms; agents, coordinator and hand-overs in virtual time",
        ("pytest", "tests/weir", "tests/weir_client", "tests/lives", "-n2"),
        180,
    ),
    # Its tests wait for brokers and processes about a quarter of their time.
    Suite(
        "server",
        "Django, agents on real brokers, Spark, set-up, documentation",
        ("pytest", *OF_OTHERS, "-n3", "--dist=loadfile"),
        300,
        servers=True,
    ),
    Suite(
        "journeys",
        "the whole system in a browser, and each process killed",
        ("pytest", "tests/e2e"),
        240,
    ),
)
LONG = (
    Suite(
        "examples",
        "more and other examples of every property of the algorithms",
        ("pytest", "tests/weir", "tests/weir_client", f"-n{CORES}"),
        thorough=True,
    ),
    Suite(
        "orders",
        "every request in every state of a plan; more orders of messages, answers and faults",
        (
            *("pytest", "tests/agent", "tests/apps/integrations", "tests/apps/plans/test_walk.py"),
            *(
                "tests/apps/allocations/test_planning_steps.py",
                "tests/apps/systems/test_imports.py",
            ),
            *("-n2", "--dist=loadfile"),
        ),
        servers=True,
        thorough=True,
    ),
    Suite(
        "long-servers",
        "recipes, set-up, Spark, roles: where another test proves as much in less time",
        ("pytest", *OF_OTHERS, "-mthorough", "-n2", "--dist=loadfile"),
        servers=True,
        thorough=True,
    ),
    Suite(
        "long-journeys",
        "every page in both colour schemes and widths; overlays and maps there and back",
        ("pytest", *(f"tests/e2e/test_{name}.py" for name in ("journeys", "overlay", "streams"))),
        thorough=True,
    ),
    Suite(
        "kills",
        "more processes killed, and all of them in turn under load",
        ("pytest", "tests/e2e", "-mthorough"),
        thorough=True,
    ),
    Suite(
        "lives",
        "100,000 simulated lives of production agents",
        ("tests.lives", "--seeds", "100000", "--jobs", CORES),
    ),
    Suite(
        "variants",
        "at which seed each broken variant is caught",
        ("tests.lives", "--mutants", "--jobs", CORES),
    ),
    Suite(
        "long-chaos",
        "a million messages on the whole system",
        ("tests.e2e.chaos", "--deliveries", "1000000"),
    ),
    Suite("mutants", "small bugs that no test notices", ("tests.mutants", "--sample", "300")),
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

    @property
    def over(self) -> bool:
        """Whether it took longer than it may."""
        return self.suite.budget_s is not None and self.seconds > self.suite.budget_s


def run_suite(suite: Suite) -> Outcome:
    """Run a suite; what it prints is seen at once."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    _report(suite).unlink(missing_ok=True)
    began = time.monotonic()
    ended = subprocess.run(_command(suite), cwd=ROOT, env=_environment(suite), check=False)
    seconds = time.monotonic() - began
    print(f"  {suite.name:<44} {seconds:6.1f} s", flush=True)
    tests = sorted(durations(_report(suite)), reverse=True)
    return Outcome(suite, seconds, ended.returncode, len(tests), tuple(tests[:SLOWEST]))


def _report(suite: Suite) -> Path:
    return REPORTS / f"{suite.name}.xml"


def _command(suite: Suite) -> list[str]:
    command = [sys.executable, "-m", *suite.command]
    return [*command, "--junitxml", str(_report(suite))] if command[2] == "pytest" else command


def _environment(suite: Suite) -> dict[str, str]:
    environment = dict(os.environ)
    if not suite.servers:
        environment["WEIR_TEST_SERVERS"] = "off"
    if suite.thorough:
        environment[THOROUGH] = "1"
    return environment


def durations(report: Path) -> list[tuple[float, str]]:
    """Read seconds and name of each test from a report in the JUnit format; none without one."""
    if not report.exists():
        return []
    cases = ElementTree.parse(report).iter("testcase")
    return [
        (float(case.get("time", 0)), f"{case.get('classname')}.{case.get('name')}")
        for case in cases
    ]


def table(outcomes: Sequence[Outcome], elapsed_s: float) -> str:
    """Return the outcomes as lines: suite, tests, seconds, budget, then the slowest tests."""
    lines = [f"{'suite':<18}{'tests':>7}{'seconds':>10}{'budget':>9}"]
    for outcome in outcomes:
        suite = outcome.suite
        remarks = ("  over" if outcome.over else "") + ("  failed" if outcome.status else "")
        budget = "-" if suite.budget_s is None else str(suite.budget_s)
        lines.append(
            f"{suite.name:<18}{outcome.tests or '-':>7}{outcome.seconds:>10.0f}{budget:>9}{remarks}"
        )
    tests = sum(outcome.tests for outcome in outcomes)
    budget_s = sum(outcome.suite.budget_s or 0 for outcome in outcomes)
    lines.append(f"{'all':<18}{tests:>7}{elapsed_s:>10.0f}{budget_s:>9}")
    lines += ["", "slowest"]
    for outcome in outcomes:
        lines += [f"{seconds:>8.1f} s  {name}" for seconds, name in outcome.slowest]
    return "\n".join(lines)


def run(suites: Sequence[Suite], *, to_the_end: bool) -> int:
    """Run the suites and print the table; return the exit status. `to_the_end`: a failure ends
    nothing, and a suite over its budget is one."""
    began = time.monotonic()
    outcomes: list[Outcome] = []
    for suite in suites:
        outcomes.append(run_suite(suite))
        if outcomes[-1].status and not to_the_end:
            break
    print(f"\n{table(outcomes, time.monotonic() - began)}", flush=True)
    failed = next((outcome.status for outcome in outcomes if outcome.status), 0)
    over = [outcome.suite.name for outcome in outcomes if outcome.over]
    if to_the_end and over:
        print(f"error: over its budget: {', '.join(over)}", file=sys.stderr)
        return failed or 1
    return failed


def main() -> int:
    """Run the suites named on the command line, or all; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SUITE", help="those to run; default: all")
    parser.add_argument("--thorough", action="store_true", help="the long parts as well")
    args = parser.parse_args()
    offered = SUITES + LONG if args.thorough else SUITES
    known = {suite.name: suite for suite in offered}
    for name in args.names:
        if name not in known:
            print(f"error: no suite {name!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
    chosen = [known[name] for name in args.names] or offered
    return run(chosen, to_the_end=args.thorough)


if __name__ == "__main__":
    sys.exit(main())
