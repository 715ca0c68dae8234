"""Results as plain dicts and JSON bytes.

`result_to_dict` has exactly the keys of the published format; `result_to_record` adds what
Weir stores beside them, to know later which numbers can be computed again.
"""

from __future__ import annotations

import json
import math
from typing import Any

from weir.codec.infeasibility import infeasibility_from_dict, infeasibility_to_dict
from weir.errors import InvalidProblem
from weir.model import Result
from weir.reading import mapping, shown

STATUSES = ("optimal", "solved", "not_converged", "time_limit", "infeasible")
_PUBLISHED = (
    "status",
    "method",
    "rates",
    "populations",
    "utility",
    "upper_bound",
    "node_prices",
    "link_prices",
    "iterations",
    "trace",
)
_RECORDED = (
    "problem_hash",
    "kernel_version",
    "seed",
    "reason",
    "bounds",
    "infeasibility",
    "pruned",
)


def result_to_dict(result: Result) -> dict[str, Any]:
    """The published form; an infeasible one also says why, a pruned one what was left out."""
    plain: dict[str, Any] = {
        "status": result.status,
        "method": result.method,
        "rates": dict(result.rates),
        "populations": dict(result.populations),
        "utility": result.utility,
        "upper_bound": result.upper_bound,
        "node_prices": {node: dict(prices) for node, prices in result.node_prices.items()},
        "link_prices": dict(result.link_prices),
        "iterations": result.iterations,
        "trace": list(result.trace),
    }
    if result.status == "infeasible":
        plain["reason"] = result.reason
        if result.infeasibility is not None:
            plain["infeasibility"] = infeasibility_to_dict(result.infeasibility)
    if result.pruned:  # without it the loads could not be added up again
        plain["pruned"] = {flow: list(nodes) for flow, nodes in result.pruned.items()}
    return plain


def result_to_record(result: Result) -> dict[str, Any]:
    """The published form plus hash, kernel version, seed, reason, bounds and infeasibility."""
    explained = result.infeasibility
    return result_to_dict(result) | {
        "problem_hash": result.problem_hash,
        "kernel_version": result.kernel_version,
        "seed": result.seed,
        "reason": result.reason,
        "bounds": list(result.bounds),
        "infeasibility": None if explained is None else infeasibility_to_dict(explained),
    }


def result_to_json(result: Result) -> bytes:
    """The published form as indented UTF-8 JSON with a final newline."""
    text = json.dumps(result_to_dict(result), indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def result_from_dict(obj: object) -> Result:
    """A Result from its published or its recorded form."""
    if not isinstance(obj, dict):
        raise InvalidProblem("", f"a result must be an object, not {shown(obj)}")
    for key in obj:
        if key not in _PUBLISHED and key not in _RECORDED:
            raise InvalidProblem("", f"unknown key {shown(key)} in a result")
    for key in _PUBLISHED:
        if key not in obj:
            raise InvalidProblem("", f'missing key "{key}" in a result')
    if obj["status"] not in STATUSES:
        known = ", ".join(STATUSES)
        raise InvalidProblem("status", f"no status {shown(obj['status'])}; known are {known}")
    bound = obj["upper_bound"]
    return Result(
        status=obj["status"],
        method=str(obj["method"]),
        rates=_numbers(obj["rates"], "rates"),
        populations={
            key: int(value) for key, value in _numbers(obj["populations"], "populations").items()
        },
        utility=_number(obj["utility"], "utility"),
        upper_bound=None if bound is None else _number(bound, "upper_bound"),
        node_prices={
            node: _numbers(prices, f"node_prices.{node}")
            for node, prices in mapping(obj["node_prices"], "node_prices").items()
        },
        link_prices=_numbers(obj["link_prices"], "link_prices"),
        iterations=int(_number(obj["iterations"], "iterations")),
        trace=tuple(_number(value, f"trace[{i}]") for i, value in enumerate(obj["trace"])),
        problem_hash=str(obj.get("problem_hash", "")),
        kernel_version=str(obj.get("kernel_version", "")),
        seed=int(obj.get("seed", 0)),
        reason=str(obj.get("reason", "")),
        bounds=tuple(
            _number(value, f"bounds[{i}]") for i, value in enumerate(obj.get("bounds", []))
        ),
        infeasibility=infeasibility_from_dict(obj.get("infeasibility")),
        pruned={
            flow: tuple(str(node) for node in nodes)
            for flow, nodes in mapping(obj.get("pruned", {}), "pruned").items()
        },
    )


def _number(value: object, path: str) -> float:
    """Unlike an input an answer has no upper limit; integers stay integers."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidProblem(path, f"must be a finite number, not {shown(value)}")
    return value


def _numbers(obj: object, path: str) -> dict[str, float]:
    return {key: _number(value, f"{path}.{key}") for key, value in mapping(obj, path).items()}
