"""Figure 6 of the paper on a real fleet of NATS brokers and agents, in one run.

    python -m benchmarks.transformation_fleet [--quick] [--brokers N] [--out FOLDER]

A plan of the paper's baseline (best-first search, one shift per step) and Weir's own (parallel
steps) to the same goal are carried out in turn under load; in between the fleet goes back. The
protocol, the brokers and the agents are the real ones (the agents share one process); the control
plane is the small one of `benchmarks.fleet`, whose decisions are the real coordinator's. Every
message is audited. Printed, and written to FOLDER/figure-6.txt, are medians over the repeats; the
picture is FOLDER/figure-6.png.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import uvloop

from benchmarks.fleet.fleet import Fleet
from benchmarks.transformation_fleet import measure, plans
from benchmarks.transformation_fleet.load import Load
from benchmarks.transformation_fleet.measure import Point
from benchmarks.transformation_fleet.picture import draw
from benchmarks.transformation_fleet.workload import ROOT, Workload, workload

if TYPE_CHECKING:
    from weir.model.transformation import Steps

AGENTS = "benchmarks.transformation_fleet.agents"
SUBSCRIBERS = (200, 400, 600, 800, 1000)
RATIOS = (0.1, 0.2, 0.3, 0.4)
RATIO, MIDDLE = 0.2, 600
"""What stays the same while the other is varied."""
BEFORE_S, AFTER_S, ARRIVE_S = 1.5, 0.5, 0.5
END_S = 120.0


class Bench:
    """One fleet and its load; `point` carries a plan out and measures."""

    def __init__(self, fleet: Fleet, load: Load, work: Workload) -> None:
        self._fleet, self._load, self._work = fleet, load, work
        self._plans: dict[tuple[str, float], Steps] = {}
        self._number = 0

    async def point(self, planner: str, subscribers: int, ratio: float) -> Point:
        """To the goal under load, and back again."""
        load, problem = self._load, self._work.goals[ratio]
        steps = self._plans.get((planner, ratio))
        if steps is None:
            steps = self._plans[planner, ratio] = plans.steps_of(problem, planner)
        await load.admit(self._work.subscribers[:subscribers])
        await load.quiet(ARRIVE_S)
        before = load.forget()
        load.speak()
        await asyncio.sleep(BEFORE_S)
        times = await asyncio.to_thread(self._carry_out, steps)
        await asyncio.sleep(AFTER_S)
        await load.quiet(ARRIVE_S)
        found = self._figures(planner, ratio, steps, times, before)
        await asyncio.to_thread(self._carry_out, plans.reverse(steps))
        return found

    def _carry_out(self, steps: Steps) -> list[dict[str, float]]:
        self._number += 1
        name = f"plan-{self._number}"
        self._fleet.plan(name, plans.roles(steps))
        state = self._fleet.ended(name, END_S)
        if state != "succeeded":
            raise RuntimeError(f"{name} ended as {state}: {self._fleet.state()['aborts']}")
        self._fleet.settle(END_S)
        return list(self._fleet.state(execution=name)["executions"][name]["times"])

    def _figures(
        self,
        planner: str,
        ratio: float,
        steps: Steps,
        times: list[dict[str, float]],
        before: dict[tuple[int, str], int],
    ) -> Point:
        trees = plans.trees(self._work.goals[ratio].initial, steps)
        shifts = measure.shifts_of(steps, trees, times)
        parts: dict[bool, list[np.ndarray]] = {True: [], False: []}
        bad = np.zeros(3, dtype=int)
        for listener in self._load.listeners:
            records = listener.taken()
            mask = measure.inside(records, listener.wanted.broker, shifts)
            latency = records["got"] - records["sent"]
            parts[True].append(latency[mask])
            parts[False].append(latency[~mask])
            bad += measure.audit(records, listener.wanted.topic, before, self._load.sent)
        affected, others = (np.concatenate(parts[which]) for which in (True, False))
        return Point(
            planner=planner,
            subscribers=len(self._load.listeners),
            ratio=ratio,
            actions=sum(map(len, steps)),
            steps=len(steps),
            attempts=int(sum(row["attempts"] for row in times)),
            execution_s=max(s.ended for s in shifts) - min(s.began for s in shifts),
            inside_p99_s=measure.p99(affected),
            outside_p99_s=measure.p99(others),
            inside=len(affected),
            delivered=len(affected) + len(others),
            growth_p99=measure.p99(np.array(self._growth(shifts))),
            lost=int(bad[0]),
            doubled=int(bad[1]),
            reordered=int(bad[2]),
        )

    def _growth(self, shifts: list[measure.Shift]) -> list[float]:
        with (self._fleet.directory / "queues.csv").open() as file:
            columns = {name: at for at, name in enumerate(next(file).strip().split(","))}
            lines = [line for line in file if line.endswith("\n")]
        samples = np.array([[float(x) for x in line.split(",")] for line in lines])
        return measure.growth(columns, samples, shifts)


def summed(points: list[Point]) -> Point:
    """Medians over repeats of the same; what must not happen is summed."""
    first = points[0]
    medians = {
        name: median(getattr(point, name) for point in points)
        for name in ("execution_s", "inside_p99_s", "outside_p99_s", "growth_p99", "inside")
    }
    sums = {
        name: sum(getattr(point, name) for point in points)
        for name in ("lost", "doubled", "reordered", "delivered", "attempts")
    }
    return replace(first, **medians, **sums)


async def run(
    bench: Bench, grid: list[tuple[int, float]], repeats: int
) -> dict[tuple[int, float, str], Point]:
    """Every planner at every point of the grid, in turn, so that both see the same machine."""
    found = {}
    for subscribers, ratio in grid:
        points: dict[str, list[Point]] = {name: [] for name in plans.PLANNERS}
        for _ in range(repeats):
            for name in plans.PLANNERS:
                points[name].append(await bench.point(name, subscribers, ratio))
        for name in plans.PLANNERS:
            point = found[subscribers, ratio, name] = summed(points[name])
            print(line(point, repeats), flush=True)
    return found


HEADER = (
    f"{'subscribers':>11}{'changed':>9}  {'planner':<12}{'actions':>8}{'steps':>7}{'attempts':>10}"
    f"{'execution':>11}{'p99 inside':>12}{'p99 outside':>13}{'inside':>10}{'growth p99':>12}"
    f"{'delivered':>11}{'lost':>6}{'doubled':>9}{'reordered':>11}"
)


def line(point: Point, repeats: int) -> str:
    """One row of the table."""
    return (
        f"{point.subscribers:>11}{point.ratio:>9.0%}  {point.planner:<12}{point.actions:>8}"
        f"{point.steps:>7}{point.attempts / repeats:>10.1f}{point.execution_s:>9.2f} s"
        f"{point.inside_p99_s * 1000:>9.0f} ms{point.outside_p99_s * 1000:>10.0f} ms"
        f"{point.inside:>10,.0f}{point.growth_p99:>12.0f}{point.delivered:>11,}"
        f"{point.lost:>6}{point.doubled:>9}{point.reordered:>11}"
    )


async def under_load(
    directory: Path, work: Workload, grid: list[tuple[int, float]], repeats: int, seed: int
) -> dict[tuple[int, float, str], Point]:
    """The fleet from its start to its end."""
    began = time.perf_counter()
    fleet = Fleet(directory, work.system(), together=AGENTS)
    with fleet:
        urls = {name: broker.url for name, broker in fleet.brokers.items()}
        load = Load(urls, key=fleet.client_key, root=ROOT, seed=seed)
        print(f"{len(urls)} brokers and agents stand after {time.perf_counter() - began:.1f} s")
        print(HEADER)
        await load.publish()
        try:
            return await run(Bench(fleet, load, work), grid, repeats)
        finally:
            await load.close()


def main() -> None:
    """Print the table, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--brokers", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("var/bench/transformation-fleet"))
    parser.add_argument("--quick", action="store_true", help="few brokers, one repeat, no curve")
    options = parser.parse_args()
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    if busy > 0.5:
        print(f"this machine is busy (load {busy:.1f} per processor): figures mean little")
    grid = [(count, RATIO) for count in SUBSCRIBERS]
    grid[3:3] = [(MIDDLE, ratio) for ratio in RATIOS if ratio != RATIO]
    brokers, repeats = options.brokers, options.repeats
    if options.quick:
        grid, brokers, repeats = [(100, RATIO), (200, RATIO)], 8, 1
    work = workload(
        brokers=brokers,
        subscribers=max(count for count, _ in grid),
        ratios=tuple(sorted({ratio for _, ratio in grid})),
        seed=options.seed,
    )
    with tempfile.TemporaryDirectory() as scratch:
        found = uvloop.run(under_load(Path(scratch) / "fleet", work, grid, repeats, options.seed))
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [line(point, repeats) for point in found.values()]
    (options.out / "figure-6.txt").write_text("\n".join((HEADER, *rows)) + "\n")
    draw(found, brokers, options.out / "figure-6.png")
    print(f"wrote {options.out / 'figure-6.png'}")
    bad = sum(point.lost + point.doubled + point.reordered for point in found.values())
    if bad:
        raise SystemExit(f"{bad} messages were lost, doubled or reordered")


if __name__ == "__main__":
    main()
