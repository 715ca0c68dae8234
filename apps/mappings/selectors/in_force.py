"""Read the map that is in force now: which stream each topic is in, and what that costs."""

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from django.db.models import Max

from apps.common.computing import Queue, turn
from apps.common.connections import one_moment
from apps.executions.models import Setting
from apps.mappings.selectors.problem import mappable, mapping_problem
from apps.mappings.selectors.settings import settings_of
from apps.systems.models import System
from weir.actions.set_flow_rate import KIND as RATE
from weir.clustering.answer import costs_to_dict
from weir.clustering.cost import filtering_cost
from weir.clustering.cost import map_in_force as kept_map
from weir.model.mapping import MappingProblem

_READS = Queue("Another map is being read. Try again in a few seconds.", wait_s=20.0)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What a map in force and its cost depend on; equal stamps mean equal figures."""

    system: int
    model_version: int
    weights_version: int
    rates_changed_at: Any


@dataclass(slots=True, eq=False)
class Present:
    """The map in force of one system at one moment, with who wants what."""

    stamp: _Stamp
    counts: dict[str, Any]
    """As `mappable` returns them; `because` says why there is no problem."""
    problem: MappingProblem | None
    costs: dict[str, float] | None = field(default=None)
    """Of the map in force; None where none is, or nobody wanted to know yet."""


MOST_KEPT = 8_000_000
"""Interests that stay in memory, of all systems that are kept."""
_latest: list[Present] = []
"""Those that were read last, one a system: pages and minutes read them again."""


def present(system: System) -> Present:
    """Return what is in force now; read anew only where something has changed. Raises
    ApplicationError where others are read before it."""
    kept = _kept(_stamp(system))
    if kept is None:
        with turn(_READS), one_moment():
            stamp = _stamp(system)
            kept = _kept(stamp)
            if kept is None:
                counts = mappable(system)
                problem = None if counts["because"] else mapping_problem(system)
                kept = Present(stamp=stamp, counts=counts, problem=problem)
                _keep(kept)
    return kept


def map_in_force(system: System) -> dict[str, Any]:
    """Return what the map that is in force now costs, at the rates and weights of now. Raises
    ApplicationError where others are read before it."""
    now = present(system)
    counts = now.counts
    because = counts["because"]
    if now.problem is not None and now.costs is None:
        flow_map = kept_map(now.problem)
        if flow_map is None:
            because = f"No topic of {system} is in a stream with a group yet."
        else:
            costs = filtering_cost(now.problem, flow_map.stream_of, flow_map.group_of)
            now.costs = costs_to_dict(costs)
    return {
        "model_version": now.stamp.model_version,
        "because": because,
        "wanted_flows": counts["wanted_flows"],
        "mapped_flows": counts["mapped_flows"],
        "missing_flows": counts["wanted_flows"] - counts["mapped_flows"],
        "costs": now.costs,
    }


def _keep(fresh: Present) -> None:
    """Keep this one, whatever its size, and drop those that it leaves no room for."""
    every = [fresh, *(each for each in _latest if each.stamp.system != fresh.stamp.system)]
    sizes = accumulate(each.counts["interests"] for each in every)
    _latest[:] = [e for e, size in zip(every, sizes, strict=True) if e is fresh or size < MOST_KEPT]


def _kept(stamp: _Stamp) -> Present | None:
    return next((each for each in _latest if each.stamp == stamp), None)


def _stamp(system: System) -> _Stamp:
    rates = Setting.objects.filter(system=system, kind=RATE)
    return _Stamp(
        system.pk,
        System.objects.values_list("model_version", flat=True).get(pk=system.pk),
        settings_of(system).version,
        rates.aggregate(last=Max("updated_at"))["last"],
    )
