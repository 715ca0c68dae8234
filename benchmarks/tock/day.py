"""The slides' case for adaptive mapping: a day of drift under maps that follow it or do not.

The slides name what changes over a day and state no amounts: all of it is Weir's load
(`weir.clustering.loads.day`). Yesterday is a day of it, today the next one. Each hour of today is
mapped anew, and every other way is measured in that cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.mapping import kept
from benchmarks.plain_clustering import cost_of
from benchmarks.statements import Statement
from benchmarks.tock.settings import load, mapped, sized, span
from weir.clustering import groups_first, joint
from weir.clustering._kmeans import KMeansParams
from weir.clustering._slides import Layers, Mapper
from weir.clustering.cost import moved
from weir.clustering.loads import day
from weir.model.mapping import NOWHERE, FlowMap, FormerMap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.tock.settings import Effort
    from weir.model.mapping import MappingProblem

RATIO = 0.25
HOURS = 24
HOURLY = (0.01, 0.03)
"""Parts of the interests that change in an hour."""
MOVE_COSTS = (0.0, 30.0, 300.0)
"""Work per second that Weir's method charges a flow for a move: from nothing to about what users
filter for a flow on average. The slides give none."""

AVERAGE, FIRST, GF_AGAIN, GF_ANEW = (
    "yesterday's average",
    "yesterday's last hour",
    "GF from the map before",
    "GF from random",
)
FOLLOWING = {each: f"Weir from the map before, {each:g} a move" for each in MOVE_COSTS}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hour:
    """What each way costs in an hour, in the cost of Weir's map made anew."""

    hourly: float
    hour: int
    costs: Mapping[str, float]
    moves: Mapping[str, float]
    """Part of the wanted flows that change their stream at the hour, where a map changes."""
    seconds: Mapping[str, float]
    """CPU time of a map."""
    anew_s: float


def hours(effort: Effort) -> list[Hour]:
    """Return the hours of today, for each amount of drift."""
    rows = []
    seed = effort.seeds[0]
    problem = load(effort.base, effort.shapes[0], seed)
    problem = sized(problem, *effort.searched[-1], RATIO)
    for hourly in HOURLY:
        loads = list(day(problem, 2 * HOURS, seed, hourly=hourly))
        yesterday, today = loads[:HOURS], loads[HOURS:]
        rates = np.mean([each.rates_per_s for each in yesterday], axis=0)
        average = mapped(joint, replace(yesterday[-1], rates_per_s=rates), seed)
        last = mapped(joint, yesterday[-1], seed)
        following = dict.fromkeys(MOVE_COSTS, last)
        again = mapped(groups_first, yesterday[-1], seed)
        for hour in effort.hours:
            now = today[hour]
            began = time.process_time()
            anew = cost_of(now, mapped(joint, now, seed))
            seconds, maps, moves = {}, {}, {}
            anew_s = time.process_time() - began
            for name, former in ((AVERAGE, average), (FIRST, last)):
                maps[name] = kept(now, former)
            for charge, name in FOLLOWING.items():
                before = from_map(now, following[charge], charge)
                began = time.process_time()
                maps[name] = following[charge] = mapped(joint, before, seed)
                seconds[name] = time.process_time() - began
                moves[name] = part_moved(before, maps[name])
            began = time.process_time()
            maps[GF_ANEW] = mapped(groups_first, now, seed)
            seconds[GF_ANEW] = time.process_time() - began
            began = time.process_time()
            former, again = again, groups_first_from(now, again, seed)
            seconds[GF_AGAIN] = time.process_time() - began
            maps[GF_AGAIN] = again
            moves[GF_AGAIN] = part_moved(from_map(now, former), again)
            rows.append(
                Hour(
                    hourly=hourly,
                    hour=hour,
                    costs={name: cost_of(now, each) / anew for name, each in maps.items()},
                    moves=moves,
                    seconds=seconds,
                    anew_s=anew_s,
                )
            )
    return rows


def from_map(problem: MappingProblem, former: FlowMap, charge: float = 0.0) -> MappingProblem:
    """Return a load with the map in force."""
    return replace(
        problem,
        former=FormerMap(stream_of=former.stream_of, group_of=former.group_of),
        move_cost=charge,
    )


def part_moved(problem: MappingProblem, flow_map: FlowMap) -> float:
    """Return the part of the wanted flows that are in another stream than before."""
    return float(moved(problem, flow_map) / np.count_nonzero(problem.interests.audiences))


def groups_first_from(problem: MappingProblem, former: FlowMap, seed: int) -> FlowMap:
    """Return the slides' groups first from a previous map instead of a random one."""
    begun = kept(problem, former)
    mapper = Mapper(problem, KMeansParams(), seed=seed, stop=lambda: False)
    deal = np.arange(problem.max_streams) % problem.max_groups
    layers = mapper.groups_first(
        Layers(
            stream_of=begun.stream_of[mapper.wanted],
            group_of=np.where(begun.group_of == NOWHERE, deal, begun.group_of),
        )
    )
    return mapper.map_of(layers)


def mean_costs(rows: Sequence[Hour], name: str) -> dict[float, float]:
    """Return the mean over the day by drift."""
    return {
        hourly: fmean(row.costs[name] for row in rows if row.hourly == hourly)
        for hourly in sorted({row.hourly for row in rows})
    }


def statements(rows: Sequence[Hour]) -> list[Statement]:
    """Return what the slides say of adaptation beside ours."""
    faster = [row.seconds[GF_AGAIN] / row.seconds[GF_ANEW] for row in rows]
    own = [row.seconds[name] / row.anew_s for row in rows for name in FOLLOWING.values()]
    costs = [row.costs[GF_AGAIN] / row.costs[GF_ANEW] for row in rows]
    average = mean_costs(rows, AVERAGE)
    dearer = {
        name: [average[hourly] / cost for hourly, cost in mean_costs(rows, name).items()]
        for name in (GF_AGAIN, *FOLLOWING.values())
    }
    return [
        Statement(
            key="fast",
            paper="The optimization starts from a previous map (fast).",
            measured=f"GF takes {median(faster):.2f} of the CPU time that it takes from a random "
            f"map (median over hours; {span(faster)}), and its map costs {span(costs)} of the "
            f"other; Weir, which makes a map anew, too: {median(own):.2f} of that alone",
            holds=median(faster) < 1,
        ),
        Statement(
            key="average",
            paper='Dynamic, adaptive mapping instead of the "average" map of yesterday.',
            measured="the average map costs over the day, in the cost of maps that follow: "
            + ", ".join(f"{span(each)} ({name})" for name, each in dearer.items())
            + ". No amount of theirs is given",
            holds=None,
        ),
    ]
