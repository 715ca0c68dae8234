"""The simplest method there is: flows into the streams in turn, streams into the groups in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weir.model.mapping import NOWHERE, FlowMap, MappingProblem

NAME = "in-turn"
TITLE = "In turn"
SUMMARY = "For tests alone."


@dataclass(frozen=True)
class Params:
    """The stream of the first flow."""

    first: int = 0


def cluster(of: MappingProblem, params: Params, *, seed: int, stop: Any, report: Any) -> FlowMap:
    """Put wanted flows into the streams in turn, and streams into the groups in turn."""
    wanted = of.interests.audiences > 0
    stream_of = np.full(len(of.flows), NOWHERE)
    turns = (params.first + seed + np.cumsum(wanted) - 1) % of.max_streams
    stream_of[wanted] = turns[wanted]
    pinned = wanted & (of.pinned_stream != NOWHERE)
    stream_of[pinned] = of.pinned_stream[pinned]
    used = np.unique(stream_of[wanted])
    group_of = np.full(of.max_streams, NOWHERE)
    group_of[used] = np.where(
        of.pinned_group[used] == NOWHERE, used % of.max_groups, of.pinned_group[used]
    )
    report({"done": 1, "total": 1, "cost": 0.0})
    return FlowMap(stream_of=stream_of, group_of=group_of, complete=not stop())
