"""Which tests run a line: the fast suites once under coverage, with a context for each test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from coverage import CoverageData

from tests.mutants.mutant import Mutant
from tests.mutants.sample import ROOMS

SUITES = (
    *("tests/weir/coordination", "tests/weir/lifecycle", "tests/weir/actions"),
    *("tests/lives", "tests/agent"),
    *("tests/apps/executions", "tests/apps/plans", "tests/apps/accounts", "tests/apps/telemetry"),
)
MOST_S = 120.0
"""How long the tests of one mutant may take together; the shortest go first."""


def measure(tree: Path, environment: dict[str, str]) -> None:
    """Run the suites in `tree` once. Tests that fail without any bug are used for no mutant."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *SUITES, "-q", "-p", "no:randomly", "--create-db"),
            *(f"--cov={room}" for room in ROOMS),
            *("--cov-context=test", "--cov-report=", "--junitxml=var/tests.xml"),
            *("-o", "junit_family=xunit1"),
        ],
        cwd=tree,
        env={
            **os.environ,
            **environment,
            "COVERAGE_FILE": str(tree / "var/coverage"),
        },
        check=False,
    )


class NearestTests:
    """Reads what `measure` wrote."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._data = CoverageData(str(tree / "var/coverage"))
        self._data.read()
        self._seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        """Tests that fail as the code is: they would seem to notice every mutant."""
        for case in ElementTree.parse(tree / "var/tests.xml").iter("testcase"):
            name = _name(case)
            self._seconds[name] = float(case.get("time", 0.0))
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.add(name)

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that run the mutant's lines, the shortest first; those of its file where its
        lines run on import only."""
        by_line = self._data.contexts_by_lineno(str(self._tree / mutant.file))
        lines = range(mutant.line, mutant.end_line + 1)
        names = {name for line in lines for name in by_line.get(line, ()) if name}
        if not names:
            names = {name for contexts in by_line.values() for name in contexts if name}
        tests = {name.partition("|")[0] for name in names} - self.failed
        chosen, total = [], 0.0
        for test in sorted(tests, key=lambda name: (self._seconds.get(name, 1.0), name)):
            total += self._seconds.get(test, 1.0)
            if total > MOST_S:
                break
            chosen.append(test)
        return chosen


def _name(case: ElementTree.Element) -> str:
    """As pytest and the coverage's contexts say it, with the class if the test is in one."""
    file, place = case.get("file", ""), case.get("classname", "")
    module = file.removesuffix(".py").replace("/", ".")
    classes = place.removeprefix(module).strip(".").split(".")
    return "::".join(filter(None, (file, *classes, case.get("name", ""))))
