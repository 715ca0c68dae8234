"""One method's answer to one mapping problem, as a kernel of one call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.clustering import DEFAULT, clusterer, joint
from weir.clustering._improve import Watch
from weir.clustering.adaptive import curve
from weir.codec.mapping import curve_to_list, mapping_from_json, mapping_result_to_dict
from weir.errors import InvalidProblem, WeirError
from weir.model.mapping import NOWHERE
from weir.plugins import from_dict
from weir.reading import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.clustering.adaptive import Curve
    from weir.kernel import Call
    from weir.model.mapping import FlowMap, MappingProblem


def answer(payload: bytes, call: Call) -> bytes:
    """The map of `call.method`, the best so far once `call.stop` says so.

    With `call.inputs["curve"]` its member `curve` is what fewer and more moves would cost.
    Raises WeirError for a bad problem, and for a method whose map does not hold.
    """
    return answer_of(mapping_from_json(payload), call)


def answer_of(problem: MappingProblem, call: Call) -> bytes:
    """The same for a problem that was read already."""
    chosen = clusterer(call.method or DEFAULT)
    params = from_dict(chosen.Params, call.parameters)
    report = _of_the_first_half(call) if call.inputs.get("curve") else call.report
    try:
        flow_map = chosen.cluster(problem, params, seed=call.seed, stop=call.stop, report=report)
    except MemoryError as error:
        raise WeirError(f"max_streams: counts of users and streams do not fit; {error}") from None
    return written(problem, flow_map, params, call)


def written(problem: MappingProblem, flow_map: FlowMap, params: Any, call: Call) -> bytes:
    """The map of a method with these parameters as the answer; raises WeirError where it does not
    hold."""
    if fault := fault_of(problem, flow_map):
        raise WeirError(f"{call.method or DEFAULT} gave a map that does not hold: {fault}")
    plain = mapping_result_to_dict(problem, flow_map)
    if call.inputs.get("curve"):
        drawn = _curve(problem, params, call)
        plain["curve"] = curve_to_list(problem, drawn.points)
        if not drawn.complete:
            plain["status"] = "time_limit"
    return json.dumps(plain, sort_keys=True).encode()


def _of_the_first_half(call: Call) -> Callable[[Mapping[str, Any]], None]:
    """Return the report of a search that a curve follows."""
    return lambda seen: call.report({**seen, "done": seen["done"] // 2})


def _curve(problem: MappingProblem, params: Any, call: Call) -> Curve:
    """Return the curve of cost against moves; each of its maps holds."""
    if not isinstance(params, joint.Params):
        raise WeirError(f"curve: only the method {joint.NAME} draws one; leave the method out")
    if problem.former is None:
        raise InvalidProblem("previous", "a curve begins at the map in force; add it")
    watch = Watch(stop=call.stop, report=call.report, begin=0.5)
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
