"""What is printed: figure 5's numbers and table I's."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.planners.trial import workload
from weir.planners.ipitt.sizes import both

if TYPE_CHECKING:
    from benchmarks.planners.contestants import Contestant

Reports = dict[str, dict[float, list[dict[str, Any]]]]
TABLE_BROKERS, TABLE_RATIO = 60, 0.2


def planning_s(contestant: Contestant, report: dict[str, Any]) -> float:
    """The paper's planning time: to the end, or to the best plan of what goes on improving."""
    return float(report["end_s" if contestant.ends_by_itself else "best_s"])


def averages(contestant: Contestant, found: list[dict[str, Any]]) -> dict[str, float] | None:
    """Over the trees that got a plan; None where none did."""
    good = [report for report in found if "actions" in report]
    if not good:
        return None
    return {
        "time": mean(planning_s(contestant, report) for report in good),
        "actions": mean(report["actions"] for report in good),
        "steps": mean(report["steps"] for report in good),
        "planned": len(good),
    }


def print_figure(axis: str, reports: Reports, chosen: list[Contestant]) -> None:
    """One block per number of brokers, or per share."""
    places = sorted({place for of in reports.values() for place in of})
    for place in places:
        print(f"\n{axis}: {place:g}")
        print(f"  {'planner':24s}{'time s':>9s}{'actions':>9s}{'steps':>7s}{'planned':>9s}  status")
        for contestant in chosen:
            found = reports[contestant.key].get(place)
            if found is None:
                print(f"  {contestant.label:24s}{'not asked: no plan at a smaller one':>36s}")
                continue
            average = averages(contestant, found)
            count = f"{sum('actions' in r for r in found)}/{len(found)}"
            states = ", ".join(sorted({_status(report) for report in found}))
            if average is None:
                print(f"  {contestant.label:24s}{'-':>9s}{'-':>9s}{'-':>7s}{count:>9s}  {states}")
                continue
            print(
                f"  {contestant.label:24s}{average['time']:9.2f}{average['actions']:9.1f}"
                f"{average['steps']:7.1f}{count:>9s}  {states}"
            )
        best = [r for of in reports.values() for r in of.get(place, []) if "actions" in r]
        if best:
            actions = max(report.get("lower_bound_actions", 0) for report in best)
            steps = max(report.get("lower_bound_steps", 0) for report in best)
            print(f"  {'highest bound of its trees':33s}{actions:9d}{steps:7d}")


def print_convoy(found: list[tuple[Contestant, dict[str, Any]]], workload: dict[str, int]) -> None:
    """Leaves carried over a corridor: what hitching them together saves."""
    print("\n{leaves} leaves over a corridor of {length} links".format(**workload))
    for contestant, report in found:
        sizes = f"{report.get('actions', '-'):>9}{report.get('steps', '-'):>7}"
        print(f"  {contestant.label:24s}{report['end_s']:9.2f}{sizes}  {_status(report)}")


def _status(report: dict[str, Any]) -> str:
    return "no plan" if report["status"] == "none" else str(report["status"])


def print_table_1(reports: Reports, chosen: list[Contestant], tree: dict[str, Any]) -> None:
    """The paper's sizes and ours for the same transformation and the same number of steps."""
    given = {"brokers": TABLE_BROKERS, "change_ratio": TABLE_RATIO, **tree}
    problem = workload(given)
    print(
        f"\nTable I, {TABLE_BROKERS} brokers, {100 * TABLE_RATIO:g} % changed, at the steps found"
    )
    print(
        f"  {'planner':24s}{'memory MB':>10s}{'steps':>7s}{'actions':>10s}{'variables':>11s}"
        f"{'constraints':>13s}   as in appendix A: actions, variables, constraints"
    )
    for contestant in chosen:
        found = reports[contestant.key].get(float(TABLE_BROKERS))
        report = found[0] if found else {}
        memory = f"{report['memory_mb']:10.0f}" if "memory_mb" in report else f"{'-':>10s}"
        steps = report.get("steps", 0)
        line = f"  {contestant.label:24s}{memory}{steps or '-':>7}"
        if contestant.planner == "ipitt" and steps:
            paper, ours = both(problem, contestant.params["action_set"], steps)
            line += f"{ours.slides:10d}{ours.variables:11d}{ours.constraints:13d}"
            line += f"   {paper.slides}, {paper.variables}, {paper.constraints}"
        print(line)
