"""The paper's figure 5 and table I with every planner, in one run.

    python -m benchmarks.planners [--full] [--limit SECONDS] [--out FOLDER]

Figure 5: planning time, actions and steps against the number of brokers (20 % of links changed) and
against the share of links changed (60 brokers), in the paper's meaning of parallel. Each planner
gets the same limit per transformation; one that had no plan at a size is not asked at larger ones.
Table I: sizes and peak memory at 60 brokers and 20 %.

By default one tree per point and a few seconds; `--full` takes the paper's 12 trees per point
(maximum degree 5, 6, 7; balanced or not; two seeds) and its 10 minutes. Trials run one at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.planners.contestants import CONTESTANTS, CONVOY, LAMA, Contestant
from benchmarks.planners.pictures import draw
from benchmarks.planners.tables import print_convoy, print_figure, print_table_1

BROKERS = (20, 40, 60, 80, 100, 120, 150)
FULL_BROKERS = (20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150)
RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
RATIO_BROKERS, BROKERS_RATIO = 60, 0.2
CORRIDOR = {"leaves": 6, "length": 9}
CONVOY_LIMIT_S = 60.0
LIMIT_S, FULL_LIMIT_S = 8.0, 600.0
OVERRUN_S, OVERRUNS_S = 60.0, {"slides": 300.0}
"""After the limit and this, which includes imports and compiling, a process is ended."""

LIMITS_S = {"slides": 2.0, LAMA: 40.0}
"""Unless --full or --limit: slides needs less, and LAMA needs more than the others to begin."""


def trees(is_full: bool) -> list[dict[str, Any]]:
    """Shapes of the trees per point."""
    if not is_full:
        return [{"max_degree": 6, "balanced": True, "seed": 1}]
    return [
        {"max_degree": degree, "balanced": balanced, "seed": seed}
        for degree in (5, 6, 7)
        for balanced in (True, False)
        for seed in (1, 2)
    ]


def attempt(contestant: Contestant, workload: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """The trial's report; without a plan where it had to be ended."""
    given = {"contestant": contestant.key, "workload": workload, "limit_s": limit_s}
    command = [sys.executable, "-m", "benchmarks.planners.trial", json.dumps(given)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
        is_over = False
        try:
            process.wait(limit_s + OVERRUNS_S.get(contestant.planner, OVERRUN_S))
        except subprocess.TimeoutExpired:
            is_over = True
        finally:  # the session that it started, a search that LAMA left behind too
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0), err.seek(0)
        said, complaint = out.read(), err.read()
    if is_over:
        return {"status": "none", "why": "had to be ended", "end_s": limit_s}
    if process.returncode:
        print(complaint, file=sys.stderr)
        return {"status": "error", "why": complaint.strip().splitlines()[-1], "end_s": limit_s}
    report: dict[str, Any] = json.loads(said.splitlines()[-1])
    return report


def series(
    points: list[tuple[float, dict[str, Any]]], chosen: list[Contestant], given: argparse.Namespace
) -> dict[str, dict[float, list[dict[str, Any]]]]:
    """Per contestant and place on the axis the reports of its trees."""
    reports: dict[str, dict[float, list[dict[str, Any]]]] = {c.key: {} for c in chosen}
    for place, workload in points:
        for contestant in chosen:
            before = [found for x, found in reports[contestant.key].items() if x < place]
            if before and not any("actions" in report for report in before[-1]):
                continue
            limit_s = given.limit or LIMITS_S.get(contestant.planner, LIMIT_S)
            found = [attempt(contestant, workload | tree, limit_s) for tree in trees(given.full)]
            reports[contestant.key][place] = found
            print(f"  {place:g} {contestant.label}: {_short(found)}", file=sys.stderr, flush=True)
    return reports


def _short(found: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{r['actions']} actions, {r['steps']} steps, {r['best_s']:.2f} s"
        if "actions" in r
        else f"no plan ({r['end_s']:.1f} s)"
        for r in found
    )


def main() -> None:
    """Run, print the tables, write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="12 trees a point, 10 minutes each")
    parser.add_argument("--limit", type=float, help="seconds per planner and transformation")
    parser.add_argument("--out", type=Path, default=Path("var/bench/planners"))
    parser.add_argument("--only", nargs="+", choices=[c.key for c in CONTESTANTS])
    given = parser.parse_args()
    if given.full and given.limit is None:
        given.limit = FULL_LIMIT_S
    chosen = [c for c in CONTESTANTS if not given.only or c.key in given.only]
    sizes = FULL_BROKERS if given.full else BROKERS
    by_size: list[tuple[float, dict[str, Any]]] = [
        (n, {"brokers": n, "change_ratio": BROKERS_RATIO}) for n in sizes
    ]
    by_ratio: list[tuple[float, dict[str, Any]]] = [
        (100 * r, {"brokers": RATIO_BROKERS, "change_ratio": r}) for r in RATIOS
    ]
    results = {
        "brokers": series(by_size, chosen, given),
        "links changed, %": series(by_ratio, chosen, given),
    }
    limits = {c.label: given.limit or LIMITS_S.get(c.planner, LIMIT_S) for c in chosen}
    print(f"trees per point: {len(trees(given.full))}; seconds per plan:")
    print("  " + ", ".join(f"{label} {limit:g}" for label, limit in limits.items()))
    for axis, reports in results.items():
        print_figure(axis, reports, chosen)
    print_table_1(results["brokers"], chosen, trees(given.full)[0])
    convoy = [c for c in chosen if c.key in ("slides-actions", "ipitt-E")] + [CONVOY]
    print_convoy([(c, attempt(c, CORRIDOR, CONVOY_LIMIT_S)) for c in convoy], CORRIDOR)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "figure-5.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    draw(results, chosen, given.out / "figure-5.png")
    print(f"wrote {given.out / 'figure-5.png'}")
    reports = [r for of in results.values() for by in of.values() for at in by.values() for r in at]
    if any(report["status"] == "error" for report in reports):
        sys.exit("a planner ended with an error, see above")


if __name__ == "__main__":
    main()
