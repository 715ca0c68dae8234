"""How pictures look: Weir's light colours, hairlines, ink on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")  # a picture goes to a file; no display is asked for

from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT, TEXT_2, TEXT_3, LINE = "#12201F", "#465552", "#5F6E6B", "#DFE5E3"
SERIES = ("#0A6780", "#B0721A", "#932C76", "#3B7C3E", "#3C68C2", "#A94E38")
TIERS = {"gold": "#C99318", "silver": "#74B2C0", "bronze": "#A94E38"}
WAITING = "#E8EDEC"
TITLES = {"greedy": "Greedy (the paper's)", "lrgp": "LRGP", "certified": "Certified (Weir's)"}

mpl.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same picture everywhere
        "font.size": 8,
        "text.color": TEXT,
        "axes.labelcolor": TEXT_2,
        "axes.labelsize": 8,
        "axes.edgecolor": "#C3CDCA",
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.axisbelow": True,
        "grid.color": LINE,
        "grid.linewidth": 0.7,
        "xtick.color": TEXT_3,
        "ytick.color": TEXT_3,
        "xtick.major.size": 3,
        "ytick.major.size": 0,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "lines.linewidth": 1.3,
        "lines.solid_joinstyle": "round",
        "legend.frameon": False,
        "legend.fontsize": 8,
    }
)


def sheet(methods: Sequence[str], rows: int, *, ratios: Sequence[float] | None = None):  # type: ignore[no-untyped-def]
    """A figure with one column per method; axes[row][column], x and y shared."""
    figure, axes = plt.subplots(
        rows,
        len(methods),
        figsize=(3.6 * len(methods) + 0.4, 1.9 * rows + 0.9),
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=ratios,
        layout="constrained",
    )
    for column, method in enumerate(methods):
        axes[0][column].set_title(TITLES.get(method, method))
        axes[-1][column].set_xlabel("minutes")
        axes[-1][column].xaxis.set_major_locator(MaxNLocator(6, integer=True))
    return figure, axes


def legend(figure: Figure, axes: Axes) -> None:
    """One legend for all columns, above them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))


def save(figure: Figure, path: Path) -> None:
    """A small PNG without a date, so that the same numbers give the same file."""
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
