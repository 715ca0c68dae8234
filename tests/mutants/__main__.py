"""`python -m tests.mutants`: put bugs in, one at a time, and say which ones no test notices.

A bug is noticed by the fast suites, or by what `make check` does without a server: whether models
and migrations, API and published schema say the same.

`--resume` goes on with a run that was broken off, and with one that left survivors: it keeps what
was killed and tries the rest, survivors included, with the tests of today.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from config.stack import Stack
from tests.mutants import results as kept
from tests.mutants.mutant import Mutant
from tests.mutants.nearest_tests import NearestTests, measure
from tests.mutants.sample import files, mutated, sample

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "var" / "mutants"
RESULTS = WORK / "results.jsonl"
SCHEMA = "var/openapi.json"
EQUIVALENT = Path(__file__).with_name("equivalent.json")
NOT_COPIED = shutil.ignore_patterns(
    *(".git", ".venv", "var", "node_modules", "dist", ".mypy_cache", ".ruff_cache", "*.pyc")
)
# Each tree has servers of its own, whatever the caller does with those beside him.
ENVIRONMENT = {
    "WEIR_TEST_SERVERS": "on",
    "WEIR_TEST_SERVERS_KEEP": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
TIMEOUT_S = 300.0
PASSED, FAILED = 0, 1
"""What pytest exits with. All else says that no test was run: the bug may be the cause, or not."""


def main() -> int:
    """0 when at least 90 % of the mutants that differ were killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=(), help="files that begin with one of these")
    parser.add_argument(
        "--measured", action="store_true", help="take the last run's coverage and tests"
    )
    parser.add_argument("--resume", action="store_true", help="try those not killed yet")
    options = parser.parse_args()

    mutants = sample(ROOT, options.sample, options.seed, options.only)
    first = _copy(0, fresh=not options.measured)
    if options.measured:
        _check_measured(first)
    else:
        print("running the fast suites once, with the lines of each test")
        measure(first, ENVIRONMENT)
    tests = NearestTests(first)
    for name in sorted(tests.failed):
        print(f"fails as the code is, used for no mutant: {name}")
    if not options.resume:
        RESULTS.unlink(missing_ok=True)
    known = kept.kills(RESULTS)
    results = [(m, *known[m.key]) for m in mutants if m.key in known]
    results += _run([m for m in mutants if m.key not in known], tests, options.jobs, len(mutants))
    return _report(results)


def _copy(number: int, *, fresh: bool = True) -> Path:
    """A copy of the tree, in which bugs may be put."""
    tree = WORK / f"tree-{number}"
    if fresh or not tree.exists():
        _stop(tree)
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        (tree / "var").mkdir()
    return tree


def _stop(tree: Path) -> None:
    state = tree / "var" / "test"
    if state.exists():
        Stack(state_dir=state, parts=("postgres", "valkey"), given=dict(os.environ)).down()


def _check_measured(tree: Path) -> None:
    """Raises SystemExit where the code is no longer that of the tree whose coverage was taken."""
    for path in files(ROOT):
        file = path.relative_to(ROOT)
        if not (tree / file).exists() or (tree / file).read_bytes() != path.read_bytes():
            raise SystemExit(f"{file} has changed since the coverage was taken: omit --measured")


def _run(
    mutants: list[Mutant], tests: NearestTests, jobs: int, of: int
) -> list[tuple[Mutant, str, int]]:
    """Every mutant with its outcome and the number of tests that looked at it."""
    first = of - len(mutants)
    waiting: queue.Queue[Mutant] = queue.Queue()
    for mutant in mutants:
        waiting.put(mutant)
    results: list[tuple[Mutant, str, int]] = []

    def work(number: int) -> None:
        tree = _copy(number, fresh=number > 0)
        try:
            while True:
                try:
                    mutant = waiting.get_nowait()
                except queue.Empty:
                    return
                outcome, count = _try(tree, mutant, tests.of(mutant))
                results.append((mutant, outcome, count))
                kept.add(RESULTS, mutant, outcome, count)
                print(
                    f"{first + len(results):4d}/{of} {outcome:9} {mutant.file}:{mutant.line} "
                    f"{mutant.operator} ({count} tests): {mutant.text[:80]}",
                    flush=True,
                )
        finally:
            _stop(tree)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(results) < len(mutants):
        raise RuntimeError("not every bug was tried")
    return results


def _try(tree: Path, mutant: Mutant, tests: list[str]) -> tuple[str, int]:
    """`killed`, `timeout` (killed, too) or `survived`. Raises RuntimeError where the tests cannot
    be run without the bug either."""
    path = tree / mutant.file
    source = path.read_text(encoding="utf-8")
    code = PASSED
    try:
        path.write_text(mutated(mutant, source), encoding="utf-8")
        if tests:
            code = _pytest(tree, tests)
        if code == PASSED and not _agrees(tree, mutant.file):
            code = FAILED
    except subprocess.TimeoutExpired:
        return "timeout", len(tests)
    finally:
        path.write_text(source, encoding="utf-8")
    if code not in (PASSED, FAILED) and _pytest(tree, tests) != PASSED:
        raise RuntimeError(f"pytest ends with {code} before any test, with and without a bug")
    return (kept.SURVIVED if code == PASSED else "killed"), len(tests)


def _agrees(tree: Path, file: str) -> bool:
    """Whether models have their migrations, and the API is the published one."""
    commands = []
    if file.endswith("models.py"):
        commands.append(["makemigrations", "--check", "--dry-run"])
    if "/api/" in file:
        commands.append(["spectacular", "--file", SCHEMA, "--format", "openapi-json"])
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "manage.py", *command],
            cwd=tree,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.test"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            return False
        published = (tree / "frontend/openapi.json").read_bytes()
        if command[0] == "spectacular" and (tree / SCHEMA).read_bytes() != published:
            return False
    return True


def _pytest(tree: Path, tests: list[str]) -> int:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly"),
            *("-p", "no:cacheprovider", "--reuse-db", "--timeout=60", *tests),
        ],
        cwd=tree,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT_S,
        check=False,
    ).returncode


def _report(results: list[tuple[Mutant, str, int]]) -> int:
    reasons: dict[str, str] = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    survived = [mutant for mutant, outcome, _ in results if outcome == kept.SURVIVED]
    equivalent = [mutant for mutant in survived if mutant.key in reasons]
    missed = [mutant for mutant in survived if mutant.key not in reasons]
    for mutant in sorted(equivalent, key=lambda m: (m.file, m.line)):
        print(f"equivalent {mutant.file}:{mutant.line} {mutant.operator}: {reasons[mutant.key]}")
    for mutant in sorted(missed, key=lambda m: (m.file, m.line)):
        print(f"SURVIVED {mutant.file}:{mutant.line} {mutant.operator}: {mutant.text}")
    differ = len(results) - len(equivalent)
    killed = len(results) - len(survived)
    share = killed / differ if differ else 1.0
    print(
        f"{len(results)} mutants: {killed} killed, {len(equivalent)} equivalent, "
        f"{len(missed)} survived; {share:.1%} of those that differ were killed"
    )
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    start = time.monotonic()
    code = main()
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(code)
