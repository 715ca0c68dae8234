"""The figure: latency, queues and execution time over subscribers and over the change ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib import pyplot as plt

from benchmarks.style import SERIES, save
from benchmarks.transformation_fleet.plans import PLANNERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.transformation_fleet.measure import Point

    Found = dict[tuple[int, float, str], Point]
    Value = Callable[[Point], float]

TITLES = {
    "best_first": "best-first search, one shift per step",
    "slides": "Weir, parallel steps",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One curve's points, in order, and what they stand over."""

    title: str
    label: str
    at: Sequence[float]
    keys: Sequence[tuple[int, float]]


def draw(found: Found, brokers: int, path: Path) -> None:
    """Write the picture: a column over subscribers, and one over the change ratio if measured."""
    columns = _columns(found, brokers)
    figure, axes = plt.subplots(
        3,
        len(columns),
        figsize=(3.7 * len(columns) + 0.6, 6.6),
        sharex="col",
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for at, column in enumerate(columns):
        latency, queues, execution = (axes[row][at] for row in range(3))
        latency.set_title(column.title)
        _lines(latency, found, column, lambda point: point.inside_p99_s * 1000)
        _lines(latency, found, column, lambda point: point.outside_p99_s * 1000, outside=True)
        _lines(queues, found, column, lambda point: point.growth_p99)
        _lines(execution, found, column, lambda point: point.execution_s)
        execution.set_xlabel(column.label)
        execution.set_xticks(column.at)
    axes[0][0].set_ylabel("delivery latency,\n99th percentile (ms)")
    axes[1][0].set_ylabel("growth of a queue in a shift,\n99th percentile (messages)")
    axes[2][0].set_ylabel("execution of the plan (s)")
    for row in axes:
        # Once all columns are drawn: the limits of a row are shared, and setting one fixes both.
        row[0].set_ylim(bottom=0)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(columns))
    save(figure, path)


def _columns(found: Found, brokers: int) -> list[Column]:
    first = next(iter(found))
    by_count = sorted({(count, ratio) for count, ratio, _ in found if ratio == first[1]})
    columns = [
        Column(
            title=f"{brokers} brokers, {first[1]:.0%} of links changed",
            label="subscribers",
            at=[count for count, _ in by_count],
            keys=by_count,
        )
    ]
    counts = {ratio: count for count, ratio, _ in found if ratio != first[1]}
    if counts:
        (count,) = set(counts.values())
        ratios = sorted({*counts, first[1]})
        columns.append(
            Column(
                title=f"{brokers} brokers, {count:,} subscribers",
                label="links changed (%)",
                at=[ratio * 100 for ratio in ratios],
                keys=[(count, ratio) for ratio in ratios],
            )
        )
    return columns


def _lines(
    axes: Axes, found: Found, column: Column, value: Value, *, outside: bool = False
) -> None:
    for name, color in zip(PLANNERS, (SERIES[1], SERIES[0]), strict=True):
        axes.plot(
            column.at,
            [value(found[(*key, name)]) for key in column.keys],
            marker="o",
            markersize=3,
            linestyle="--" if outside else "-",
            color=color,
            alpha=0.6 if outside else 1.0,
            label=f"{TITLES[name]}{', messages outside of shifts' if outside else ''}",
        )
