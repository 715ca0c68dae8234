"""A picture of each figure: the 99th percentile on a logarithmic axis, a panel beside the other."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from benchmarks.srtm.experiments import (
    CONC,
    LB,
    MAXMIN,
    SAME_BROKERS,
    SRTM,
    WEIR,
    Figure,
    Line,
)
from benchmarks.srtm.testbed import SLO_S
from benchmarks.style import SERIES, TEXT, TEXT_2, legend, plt, save

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

LOOKS = {
    LB: (SERIES[5], "o"),
    CONC: (SERIES[1], "s"),
    MAXMIN: (SERIES[4], "^"),
    SAME_BROKERS: (SERIES[4], "^"),
    SRTM: (SERIES[3], "D"),
    WEIR: (SERIES[0], "o"),
}
"""Colour and marker of each line."""
QUANTILES = (
    ("99th", "p99_s", SERIES[0], "o"),
    ("95th", "p95_s", SERIES[1], "s"),
    ("50th", "p50_s", SERIES[3], "D"),
)
LOWEST_MS, HIGHEST_MS = 0.01, 5_000.0


def draw(figure: Figure, path: Path) -> None:
    """Draw a figure into a file."""
    panels = figure.panels
    sheet, axes = plt.subplots(
        1,
        len(panels),
        figsize=(2.9 * len(panels) + 0.6, 3.0),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for column, panel in zip(axes[0], panels, strict=True):
        column.set_title(panel.title)
        column.set_xlabel(figure.axis)
        column.set_yscale("log")
        column.axhline(1e3 * SLO_S, color=TEXT, lw=1.2)
        for name, line in panel.lines.items():
            if name in LOOKS:
                _line(column, name, line)
            else:
                _quantiles(column, line)
    low, high = axes[0][0].get_ylim()
    axes[0][0].set_ylim(max(low, LOWEST_MS), min(high, HIGHEST_MS))
    only_99th = all(name in LOOKS for name in panels[0].lines)
    axes[0][0].set_ylabel(f"{'99th percentile' if only_99th else 'latency'}, ms (log)")
    axes[0][0].yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes[0][0].xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes[0][0].annotate(
        "objective",
        (0.02, 1e3 * SLO_S),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        color=TEXT_2,
        size=7,
    )
    legend(sheet, axes[0][0])
    save(sheet, path)


def _line(column: Axes, name: str, line: Line) -> None:
    colour, marker = LOOKS[name]
    xs = [point.x for point in line]
    ranges = [point.range_ms for point in line]
    column.vlines(xs, *zip(*ranges, strict=True), color=colour, lw=0.8, alpha=0.6)
    ys = [point.p99_ms for point in line]
    column.plot(xs, ys, color=colour, marker=marker, ms=3.5, label=name)
    # Numbers of brokers, above or below by the line's place among the others.
    below = name in (SRTM, WEIR)
    for point in line:
        column.annotate(
            f"{point.brokers:g}",
            (point.x, point.p99_ms),
            xytext=(0, -9 if below else 5),
            textcoords="offset points",
            ha="center",
            color=colour,
            size=6,
            annotation_clip=True,
        )


def _quantiles(column: Axes, line: Line) -> None:
    """Draw median, 95th and 99th percentile of one way to place."""
    xs = [point.x for point in line]
    for label, name, colour, marker in QUANTILES:
        ys = [1e3 * median(getattr(each, name) for each in point.seen) for point in line]
        column.plot(xs, ys, color=colour, marker=marker, ms=3.5, label=f"{label} percentile")
