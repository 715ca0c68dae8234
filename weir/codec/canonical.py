"""One spelling per problem: the same bytes and hash however the input was ordered.

Entries are sorted by id, keys by name, resources by name; numbers that the format calls
numbers are written as floats in their shortest exact form (10 and 10.0 are the same).
"""

from __future__ import annotations

import hashlib
import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from weir.codec.collector import paused
from weir.utility import utility_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weir.model import Problem

by_id = attrgetter("id")


def _floats(amounts: Mapping[str, float]) -> dict[str, float]:
    return {key: float(amount) + 0.0 for key, amount in amounts.items()}


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """The plain form that `problem_from_dict` reads, in canonical order."""
    return {
        "resources": sorted(problem.resources),
        "nodes": [
            {"id": node.id, "capacity": _floats(node.capacity)}
            for node in sorted(problem.nodes, key=by_id)
        ],
        "links": [
            {"id": link.id, "capacity": float(link.capacity) + 0.0}
            for link in sorted(problem.links, key=by_id)
        ],
        "flows": [
            {
                "id": flow.id,
                "rate_min": float(flow.rate_min) + 0.0,
                "rate_max": float(flow.rate_max) + 0.0,
                "node_costs": {node: _floats(costs) for node, costs in flow.node_costs.items()},
                "link_costs": _floats(flow.link_costs),
            }
            for flow in sorted(problem.flows, key=by_id)
        ],
        "classes": _classes(problem),
    }


def _classes(problem: Problem) -> list[dict[str, Any]]:
    # One dict per distinct utility or cost object: a million classes share a handful.
    utilities: dict[int, dict[str, Any]] = {}
    costs_seen: dict[int, dict[str, float]] = {}
    plain = []
    for consumers in sorted(problem.classes, key=by_id):
        utility = utilities.get(id(consumers.utility))
        if utility is None:
            utility = utilities[id(consumers.utility)] = utility_to_dict(consumers.utility)
        costs = costs_seen.get(id(consumers.costs))
        if costs is None:
            costs = costs_seen[id(consumers.costs)] = _floats(consumers.costs)
        plain.append(
            {
                "id": consumers.id,
                "flow": consumers.flow,
                "node": consumers.node,
                "population_max": int(consumers.population_max),
                "costs": costs,
                "utility": utility,
            }
        )
    return plain


def canonical_bytes(problem: Problem) -> bytes:
    """The problem as compact UTF-8 JSON; equal problems give equal bytes."""
    with paused():
        text = json.dumps(
            problem_to_dict(problem),
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
            allow_nan=False,
            check_circular=False,
        )
    return text.encode()


def content_hash(problem: Problem) -> str:
    """SHA-256 of the canonical bytes, in hex."""
    return hashlib.sha256(canonical_bytes(problem)).hexdigest()
