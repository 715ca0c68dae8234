"""What became of each mutant, kept in a file, so that a run that was broken off can go on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.mutants.mutant import Mutant

SURVIVED = "survived"


def add(path: Path, mutant: Mutant, outcome: str, tests: int) -> None:
    """Adds what became of one mutant, and how many tests looked at it."""
    line = {"key": mutant.key, **asdict(mutant), "outcome": outcome, "tests": tests}
    with path.open("a", encoding="utf-8") as file:
        print(json.dumps(line), file=file)


def kills(path: Path) -> dict[str, tuple[str, int]]:
    """Outcome and number of tests of the mutants that were killed, by key; the last line of a
    mutant counts. Survivors are left out: a test written since may kill them."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    last = {one["key"]: (one["outcome"], one["tests"]) for one in map(json.loads, lines)}
    return {key: result for key, result in last.items() if result[0] != SURVIVED}
