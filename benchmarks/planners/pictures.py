"""Figure 5 as one picture: three measures against two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

from benchmarks.planners.tables import averages

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.planners.contestants import Contestant
    from benchmarks.planners.tables import Reports

MEASURES = (("time", "planning time, s"), ("actions", "actions"), ("steps", "steps"))
COLOURS = ("#0b6e99", "#4aa3c7", "#b5482a", "#d98b5f", "#7a3e9d", "#5b6b2f", "#555555")
MARKS = "osv^D<>"


def draw(results: dict[str, Reports], chosen: list[Contestant], to: Path) -> None:
    """Write the picture."""
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(results), len(MEASURES), figsize=(13, 3.7 * len(results)), layout="constrained"
    )
    for row, (axis, reports) in zip(panels, results.items(), strict=True):
        for panel, (measure, name) in zip(row, MEASURES, strict=True):
            for contestant, colour, mark in zip(chosen, COLOURS, MARKS, strict=False):
                points = []
                for place, found in sorted(reports[contestant.key].items()):
                    average = averages(contestant, found)
                    if average is not None:
                        points.append((place, average[measure]))
                panel.plot(
                    [x for x, _ in points],
                    [y for _, y in points],
                    color=colour,
                    marker=mark,
                    markersize=4,
                    linewidth=1.4,
                    label=contestant.label,
                )
            panel.set_xlabel(axis)
            panel.set_ylabel(name)
            if measure == "time":
                panel.set_yscale("log")
            elif panel.get_ylim()[1] > 0:
                panel.set_ylim(bottom=0)
            panel.grid(color="#dddddd", linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
    lines, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(to, dpi=130)
    pyplot.close(figure)
