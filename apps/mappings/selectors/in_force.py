"""Read the map that is in force now: which stream each topic is in, and what that costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Max

from apps.common.computing import Queue, turn
from apps.executions.models import Setting
from apps.mappings.selectors.problem import mappable, mapping_problem
from apps.mappings.selectors.settings import settings_of
from apps.systems.models import System
from weir.actions.set_flow_rate import KIND as RATE
from weir.clustering.answer import costs_to_dict
from weir.clustering.cost import filtering_cost
from weir.clustering.cost import map_in_force as kept_map

_READS = Queue("The map of another system is being read. Try again in a few seconds.", wait_s=20.0)
MOST_KEPT = 32
"""Systems whose figures stay in memory."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What the figures of a system depend on; equal stamps mean equal figures."""

    model_version: int
    weights_version: int
    rates_changed_at: Any


_figures: dict[int, tuple[_Stamp, dict[str, Any]]] = {}


def map_in_force(system: System) -> dict[str, Any]:
    """Return what the map that is in force now costs, at the rates and weights of now. Raises
    ApplicationError where others are read before it."""
    kept = _figures.get(system.pk)
    if kept is not None and kept[0] == _stamp(system):
        return kept[1]
    with turn(_READS), one_moment():
        stamp = _stamp(system)
        kept = _figures.get(system.pk)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        figures = {"model_version": stamp.model_version, **_read(system)}
        _figures.pop(system.pk, None)
        _figures[system.pk] = stamp, figures
        while len(_figures) > MOST_KEPT:
            _figures.pop(next(iter(_figures)))
        return figures


@contextmanager
def one_moment() -> Iterator[None]:
    """Let everything inside read one state of the database."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _read(system: System) -> dict[str, Any]:
    of = mappable(system)
    figures = {
        "because": of["because"],
        "flows": of["flows"],
        "mapped_flows": of["mapped_flows"],
        "missing_flows": of["wanted_flows"] - of["mapped_flows"],
        "costs": None,
    }
    if of["because"]:
        return figures
    problem = mapping_problem(system)
    in_force = kept_map(problem)
    if in_force is None:
        return {**figures, "because": f"No topic of {system} is in a stream with a group yet."}
    costs = filtering_cost(problem, in_force.stream_of, in_force.group_of)
    return {**figures, "costs": costs_to_dict(costs)}


def _stamp(system: System) -> _Stamp:
    rates = Setting.objects.filter(system=system, kind=RATE)
    return _Stamp(
        System.objects.values_list("model_version", flat=True).get(pk=system.pk),
        settings_of(system).version,
        rates.aggregate(last=Max("updated_at"))["last"],
    )
