"""One method's answer to one placement problem, as a kernel of one call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from weir.codec.placement import placement_from_json, placement_result_to_dict
from weir.placement import DEFAULT, placer
from weir.plugins import from_dict

if TYPE_CHECKING:
    from weir.kernel import Call
    from weir.model.placement import PlacementProblem


def answer(payload: bytes, call: Call) -> bytes:
    """The placement of `call.method`; raises WeirError for a bad problem."""
    return answer_of(placement_from_json(payload), call)


def answer_of(problem: PlacementProblem, call: Call) -> bytes:
    """The same for a problem that was read already."""
    chosen = placer(call.method or DEFAULT)
    params = from_dict(chosen.Params, call.parameters)
    placement = chosen.place(problem, params, seed=call.seed)
    return json.dumps(placement_result_to_dict(problem, placement), sort_keys=True).encode()
