"""One planner's answer to one transformation problem, as a kernel of one call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from weir.codec.transformation import transformation_from_json, transformation_plan_to_dict
from weir.planners import DEFAULT, planner
from weir.plugins import from_dict

if TYPE_CHECKING:
    from weir.kernel import Call


def answer(payload: bytes, call: Call) -> bytes:
    """The plan of `call.method`, few of `inputs.objective`; raises WeirError for a bad problem."""
    chosen = planner(call.method or DEFAULT)
    plan = chosen.plan(
        transformation_from_json(payload),
        from_dict(chosen.Params, call.parameters),
        objective=call.inputs.get("objective", "actions"),
        stop=lambda progress: call.stop(),
        seed=call.seed,
    )
    plan = replace(plan, runtime_s=round(call.elapsed_s(), 6))
    return json.dumps(transformation_plan_to_dict(plan, priced=True), sort_keys=True).encode()
