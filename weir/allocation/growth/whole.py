"""Whole populations at the end of a greedy run, without losing what the cut sets free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from weir.allocation.feasibility import SLACK

if TYPE_CHECKING:
    from weir.allocation.growth.run import GreedyRun


def made_whole(run: GreedyRun) -> None:
    """Cut to whole consumers, give whole ones back where they fit, grow rates into the rest."""
    cut = []
    for j, count in enumerate(run.populations):
        whole = math.floor(count)
        if count > whole:
            cut.append(j)
        run.populations[j] = float(whole)
    run.drop_worthless()
    run.measure_room()
    for j in sorted(cut, key=lambda j: (-run.ratio(j), j)):
        run.admit_one(j, slack=SLACK)
    run.idle_at_minimum()
    run.grow_rates_only()
