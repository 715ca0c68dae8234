"""A picture of each experiment of the slides."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator

from benchmarks.style import LINE, SERIES, TEXT_2, TEXT_3, legend, plt, save
from benchmarks.tock.algorithms import FLAT, GF, IT, LEAST, MOST, RRA, SF, WEIR, of_random
from benchmarks.tock.day import AVERAGE, FIRST, FOLLOWING, GF_AGAIN, GF_ANEW
from benchmarks.tock.layers import SHOWN_RATIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.tock.algorithms import Case, Descent
    from benchmarks.tock.day import Hour
    from benchmarks.tock.inputs import LoadFigures
    from benchmarks.tock.layers import Layers
    from benchmarks.tock.wildcards import Copies

LOOKS = {
    GF: (SERIES[1], "s"),
    SF: (SERIES[4], "^"),
    IT: (SERIES[3], "D"),
    RRA: (SERIES[2], "v"),
    WEIR: (SERIES[0], "o"),
    FLAT: (SERIES[5], "x"),
}
"""Colour and marker of each method."""
WAYS = {
    AVERAGE: SERIES[5],
    FIRST: SERIES[1],
    GF_ANEW: SERIES[4],
    GF_AGAIN: SERIES[2],
    **dict(zip(FOLLOWING.values(), (SERIES[3], "#74B2C0", SERIES[0]), strict=True)),
}
SHOWN_MARKETS = 4


def _sheet(columns: int, *, sharey: bool = False):  # type: ignore[no-untyped-def]
    return plt.subplots(
        1,
        columns,
        figsize=(3.1 * columns + 0.5, 3.0),
        sharey=sharey,
        squeeze=False,
        layout="constrained",
    )


def draw_load(loads: Sequence[LoadFigures], path: Path) -> None:
    """Draw the default load of the first seed."""
    load = loads[0]
    figure, ((topics, popularity, fan_out),) = _sheet(3)
    topics.hist(load.topics_of_users, bins=21, color=SERIES[0])
    topics.set_title("Topics of a user")
    topics.set_xlabel("topics")
    topics.set_ylabel("users")
    popularity.set_title("Popularity within a market")
    for at, (each, colour) in enumerate(
        zip(load.popularity[:SHOWN_MARKETS], SERIES, strict=False), 1
    ):
        ranks = (np.arange(len(each)) + 0.5) / len(each)
        popularity.plot(ranks, each, color=colour, marker="o", ms=3, label=f"market {at}")
    popularity.set_yscale("log")
    popularity.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    popularity.yaxis.set_minor_formatter(lambda value, _: "")
    popularity.set_xlabel("rank, part of those with 90 % of the interests")
    popularity.set_ylabel("users of a topic, mean (log)")
    popularity.legend()
    fan_out.set_title("Users of a wanted topic")
    counts = np.bincount(load.audiences)[1:]
    fan_out.bar(np.arange(1, len(counts) + 1), counts, width=1.0, color=SERIES[0])
    fan_out.axvline(load.fan_out, color=SERIES[5], lw=1.0)
    fan_out.annotate(
        f"{load.fan_out:.1f} of a message",
        (load.fan_out, 0.9),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        color=SERIES[5],
        size=7,
    )
    fan_out.set_xlabel("users")
    fan_out.set_ylabel("topics")
    save(figure, path)


def draw_layers(measured: Layers, path: Path) -> None:
    """Draw cost over streams by groups, GF and Weir's, and GF in that of flat."""
    figure, ((streams, flat),) = _sheet(2)
    streams.set_title(f"Cost at share {SHOWN_RATIO:g}")
    grid = sorted({key[2] for key in measured.costs if key[0] == GF})
    ratio = min(measured.ratios, key=lambda each: abs(each - SHOWN_RATIO))
    for groups, colour in zip(grid, SERIES, strict=False):
        for method, at, style in ((GF, ratio, "-"), (WEIR, SHOWN_RATIO, ":")):
            line = sorted(
                (key[1], cost)
                for key, cost in measured.costs.items()
                if (key[0], key[2], key[3]) == (method, groups, at)
            )
            label = f"{groups} groups" if method == GF else None
            xs, ys = zip(*line, strict=True)
            streams.plot(xs, ys, color=colour, ls=style, marker="o", ms=3, label=label)
    streams.set_xscale("log")
    streams.set_yscale("log")
    streams.set_xlabel("streams (log)")
    streams.set_ylabel("million units of work per second (log); dotted: Weir")
    counts = sorted({key[1] for key in measured.costs if key[0] == GF})
    streams.set_xticks(counts, [f"{count:,}" for count in counts])
    streams.minorticks_off()
    streams.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    streams.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:g}")
    streams.legend(fontsize=6)
    flat.set_title("GF in the cost of flat")
    flat.axhline(1.0, color=TEXT_2, lw=1.0)
    for groups, colour in zip(grid, SERIES, strict=False):
        for ratio in measured.ratios:
            each = [
                cost / measured.costs[FLAT, groups, groups, ratio]
                for key, cost in measured.costs.items()
                if (key[0], key[2], key[3]) == (GF, groups, ratio) and key[1] > groups
            ]
            flat.plot([ratio] * len(each), each, color=colour, marker="o", ms=3, ls="")
    flat.set_xscale("log")
    flat.set_xticks(measured.ratios, [f"{ratio:g}" for ratio in measured.ratios])
    flat.minorticks_off()
    flat.set_xlabel("share (log)")
    save(figure, path)


def draw_algorithms(rows: Sequence[Case], path: Path) -> None:
    """Draw each method's cost in that of random by size, a panel for each ratio.

    Bars reach from the least to the largest over loads and seeds; points are means over the load
    that all methods are run on.
    """
    ratios = sorted({row.ratio for row in rows})
    sizes = sorted({row.size for row in rows})
    methods = (GF, SF, IT, RRA, WEIR)
    default = rows[0].shape
    figure, (axes,) = _sheet(len(ratios), sharey=True)
    for column, ratio in zip(axes, ratios, strict=True):
        column.set_title(f"Share {ratio:g}")
        column.axhspan(LEAST, MOST, color=LINE, lw=0, zorder=0)
        for (place, size), (at, method) in product(enumerate(sizes), enumerate(methods)):
            here = [row for row in rows if row.size == size and row.ratio == ratio]
            each = of_random(here, method)
            if each:
                x = place + (at - len(methods) / 2) * 0.14
                colour, marker = LOOKS[method]
                column.vlines(x, min(each), max(each), color=colour, lw=0.8, alpha=0.6)
                label = method if place == 0 else None
                mean = fmean(of_random([row for row in here if row.shape == default], method))
                column.plot([x], [mean], color=colour, marker=marker, ms=3, ls="", label=label)
        names = [f"{streams}\n{groups}" for streams, groups in sizes]
        column.set_xticks(range(len(sizes)), names, size=6)
        column.set_xlabel("streams, groups")
    axes[0].set_ylabel("cost in that of random")
    axes[-1].annotate(
        "the slides' GF / Random",
        (0.98, MOST),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        color=TEXT_3,
        size=6,
    )
    legend(figure, axes[0])
    save(figure, path)


def draw_descents(rows: Sequence[Descent], path: Path) -> None:
    """Draw cost over CPU time by method."""
    figure, (axes,) = _sheet(len(rows))
    for column, row in zip(axes, rows, strict=True):
        column.set_title(f"{row.streams:,} streams, {row.groups} groups")
        for name, line in row.lines.items():
            colour, marker = LOOKS[name]
            xs, ys = zip(*line, strict=True)
            column.plot(xs, ys, color=colour, marker=marker, ms=3, label=name)
        column.set_xscale("log")
        column.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        column.set_ylim(top=1.6)
        column.set_xlabel("CPU time, s (log)")
    axes[0].set_ylabel("cost in that of GF at its end")
    legend(figure, axes[0])
    save(figure, path)


def draw_day(rows: Sequence[Hour], path: Path) -> None:
    """Draw what each way costs over the day, a panel for each drift."""
    drifts = sorted({row.hourly for row in rows})
    figure, (axes,) = _sheet(len(drifts), sharey=True)
    for column, hourly in zip(axes, drifts, strict=True):
        column.set_title(f"{hourly:.0%} of the interests an hour")
        today = [row for row in rows if row.hourly == hourly]
        for name, colour in WAYS.items():
            xs, ys = [row.hour for row in today], [row.costs[name] for row in today]
            column.plot(xs, ys, color=colour, marker="o", ms=3, label=name)
        column.axhline(1.0, color=TEXT_2, lw=1.0)
        column.set_xlabel("hour of today")
    axes[0].set_ylabel("cost in that of a map made anew")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    save(figure, path)


def draw_wildcards(rows: Sequence[Copies], path: Path) -> None:
    """Draw copies a message and dropped messages over users; bars over hierarchies and seeds."""
    figure, ((copies, dropped),) = _sheet(2)
    users = sorted({row.users for row in rows})
    copies.set_title("What the transmitter sends")
    for field, label, colour, marker in (
        ("unicast", "unicast", SERIES[5], "x"),
        ("by_subscription", "a stream per subscription", SERIES[1], "+"),
        ("mapped", "mapped", SERIES[0], "o"),
    ):
        each = [[getattr(row, field) for row in rows if row.users == one] for one in users]
        copies.vlines(users, list(map(min, each)), list(map(max, each)), color=colour, lw=0.8)
        copies.plot(users, list(map(fmean, each)), color=colour, marker=marker, ms=4, label=label)
    copies.set_xscale("log")
    copies.set_yscale("log")
    copies.set_ylabel("messages per second (log)")
    copies.legend()
    dropped.set_title("What users drop of a map")
    for (streams, groups), colour in zip(
        sorted({(row.streams, row.groups) for row in rows}), SERIES, strict=False
    ):
        each = [
            [row.dropped for row in rows if (row.users, row.streams) == (one, streams)]
            for one in users
        ]
        dropped.vlines(users, list(map(min, each)), list(map(max, each)), color=colour, lw=0.8)
        label = f"{streams} streams, {groups} groups"
        dropped.plot(users, list(map(fmean, each)), color=colour, marker="o", ms=4, label=label)
    dropped.set_xscale("log")
    dropped.set_ylabel("unwanted messages for each wanted one")
    dropped.legend()
    for axes in (copies, dropped):
        axes.set_xticks(users, [str(one) for one in users])
        axes.minorticks_off()
        axes.set_xlabel("users (log)")
    save(figure, path)
