"""One method's answer to one mapping problem, as a kernel of one call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.clustering import DEFAULT, clusterer, flat, joint
from weir.clustering._improve import COUNTED, Watch
from weir.clustering.adaptive import curve, kept
from weir.clustering.cost import filtering_cost, random_filtering
from weir.codec.mapping import curve_to_list, mapping_from_json, mapping_result_to_dict
from weir.errors import InvalidProblem, WeirError
from weir.model.mapping import NOWHERE
from weir.plugins import from_dict
from weir.reading import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from weir.clustering.adaptive import Curve
    from weir.clustering.cost import FilteringCost
    from weir.kernel import Call
    from weir.model.mapping import FlowMap, MappingProblem

CURVE_FROM, COMPARED_FROM = 0.5, 0.95
"""How much of the work is done where a curve begins, and where a map to compare with does."""

FLAT_WORK = 2_000_000_000
"""Comparisons of a flow's users with groups for the flat map: they take some seconds."""


def answer(payload: bytes, call: Call) -> bytes:
    """The map of `call.method`, the best so far once `call.stop` says so.

    With `call.inputs["curve"]` its member `curve` is what fewer and more moves would cost. With
    `call.inputs["compare"]` its members `random` and, where there is time, `flat` are what other
    maps would cost; then a curve of one point keeps the former map where none is drawn.
    """
    return answer_of(mapping_from_json(payload), call)


def answer_of(problem: MappingProblem, call: Call) -> bytes:
    """The same for a problem that was read already. Raises WeirError for a bad problem, and for a
    method whose map does not hold."""
    chosen = clusterer(call.method or DEFAULT)
    params = from_dict(chosen.Params, call.parameters)
    report = searching(call).report
    try:
        flow_map = chosen.cluster(problem, params, seed=call.seed, stop=call.stop, report=report)
        plain = written(problem, flow_map, params, call)
    except MemoryError as error:
        raise WeirError(f"max_streams: counts of users and streams do not fit; {error}") from None
    return packed({**plain, **compared_costs(problem, call)})


def packed(plain: Mapping[str, Any]) -> bytes:
    """An answer in one spelling."""
    return json.dumps(plain, sort_keys=True).encode()


def compared_costs(problem: MappingProblem, call: Call) -> dict[str, dict[str, float]]:
    """What a random map and a flat one cost, where `call` has to compare.

    The flat one is left out where nobody waits any more, and where its counts do not fit into
    memory: it is worth no part of the search. With millions of interests it is what its first
    passes give.
    """
    if not call.inputs.get("compare"):
        return {}
    costs = {"random": costs_to_dict(random_filtering(problem))}
    of_flat = None if call.stop() else _flat_costs(problem, call)
    return costs if of_flat is None else {**costs, "flat": of_flat}


def _flat_costs(problem: MappingProblem, call: Call) -> dict[str, float] | None:
    part = _part(call, COMPARED_FROM, 1.0)

    def report(seen: Mapping[str, Any]) -> None:
        part.report({"done": seen["done"], "total": seen["total"]})  # its cost is no one's so far

    params = flat.Params()
    pass_work = max(len(problem.interests.users) * problem.max_groups, 1)
    epochs = min(params.max_epochs, max(FLAT_WORK // pass_work, 1))
    params = replace(params, max_epochs=epochs)
    try:
        flow_map = flat.cluster(problem, params, seed=call.seed, stop=call.stop, report=report)
    except MemoryError:
        return None
    if call.stop():
        return None
    return costs_to_dict(filtering_cost(problem, flow_map.stream_of, flow_map.group_of))


def costs_to_dict(cost: FilteringCost) -> dict[str, float]:
    """What users filter, as members of an answer."""
    return {
        "cost": cost.total,
        "transport_cost": cost.transport,
        "messaging_cost": cost.messaging,
        "unwanted_per_s": cost.unwanted_per_s,
        "dropped_per_s": cost.dropped_per_s,
    }


def searching(call: Call) -> Call:
    """The call whose reports are those of the search before a curve and what is compared."""
    return _part(call, 0.0, CURVE_FROM if call.inputs.get("curve") else _drawn_until(call))


def _drawn_until(call: Call) -> float:
    return COMPARED_FROM if call.inputs.get("compare") else 1.0


def _part(call: Call, begin: float, end: float) -> Call:
    """Return the call of a part of the work, from and to these parts of it."""
    if (begin, end) == (0.0, 1.0):
        return call

    def report(seen: Mapping[str, Any]) -> None:
        done = begin + (end - begin) * seen["done"] / seen["total"]
        call.report({**seen, "done": round(COUNTED * done), "total": COUNTED})

    return replace(call, report=report)


def written(problem: MappingProblem, flow_map: FlowMap, params: Any, call: Call) -> dict[str, Any]:
    """The map of a method with these parameters, and the curve, as members of the answer; raises
    WeirError where the map does not hold."""
    if fault := fault_of(problem, flow_map):
        raise WeirError(f"{call.method or DEFAULT} gave a map that does not hold: {fault}")
    plain = mapping_result_to_dict(problem, flow_map)
    if call.inputs.get("curve"):
        drawn = _curve(problem, params, call)
        plain["curve"] = curve_to_list(problem, drawn.points)
        if not drawn.complete:
            plain["status"] = "time_limit"
    elif call.inputs.get("compare") and problem.former is not None:
        watch = Watch(stop=call.stop, report=lambda seen: None)
        plain["curve"] = curve_to_list(problem, (kept(problem, watch),))
    return plain


def _curve(problem: MappingProblem, params: Any, call: Call) -> Curve:
    """Return the curve of cost against moves; each of its maps holds."""
    if not isinstance(params, joint.Params):
        raise WeirError(f"curve: only the method {joint.NAME} draws one; leave the method out")
    if problem.former is None:
        raise InvalidProblem("previous", "a curve begins at the map in force; add it")
    watch = Watch(stop=call.stop, report=call.report, begin=CURVE_FROM, end=_drawn_until(call))
    drawn = curve(problem, trials=params.trials(problem), seed=call.seed, watch=watch)
    for point in drawn.points:
        if fault := fault_of(problem, point.flow_map):
            raise WeirError(f"{joint.NAME} gave a map that does not hold: {fault}")
    return drawn


def fault_of(problem: MappingProblem, flow_map: FlowMap) -> str:
    """Return which rule a map breaks, and where; an empty text where it keeps all of them."""
    stream_of, group_of = flow_map.stream_of, flow_map.group_of
    if stream_of.shape != (len(problem.flows),) or group_of.shape != (problem.max_streams,):
        return "it has not one stream for each flow and one group for each stream"

    def flow_where(wrong: NDArray[np.bool_]) -> str:
        at = np.flatnonzero(wrong)
        return f"flow {shown(problem.flows[int(at[0])])}" if len(at) else ""

    def stream_where(wrong: NDArray[np.bool_]) -> str:
        at = np.flatnonzero(wrong)
        return f"stream {int(at[0])}" if len(at) else ""

    wanted, mapped = problem.interests.audiences > 0, stream_of != NOWHERE
    if flow := flow_where(wanted & ~mapped):
        return f"{flow} is in no stream"
    if flow := flow_where(mapped & ~wanted):
        return f"{flow} is in a stream, and nobody wants it"
    if flow := flow_where(mapped & ((stream_of < 0) | (stream_of >= problem.max_streams))):
        return f"{flow} is in a stream that there is not"
    pinned = mapped & (problem.pinned_stream != NOWHERE)
    if flow := flow_where(pinned & (stream_of != problem.pinned_stream)):
        return f"{flow} is not where it is pinned"
    used = np.zeros(problem.max_streams, dtype=np.bool_)
    used[stream_of[mapped]] = True
    grouped = group_of != NOWHERE
    if stream := stream_where(used & ~grouped):
        return f"{stream} is in no group"
    if stream := stream_where(grouped & ~used):
        return f"{stream} is in a group, and carries nothing"
    if stream := stream_where(grouped & ((group_of < 0) | (group_of >= problem.max_groups))):
        return f"{stream} is in a group that there is not"
    pinned = grouped & (problem.pinned_group != NOWHERE)
    if stream := stream_where(pinned & (group_of != problem.pinned_group)):
        return f"{stream} is not where it is pinned"
    return ""
