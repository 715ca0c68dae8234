"""One spelling per problem: the same bytes and hash however the input was ordered.

Entries are sorted by id, keys by name, resources by name; numbers that the format calls
numbers are written as floats in their shortest exact form (10 and 10.0 are the same).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from weir.codec.gc_pause import paused
from weir.model import Forwarding
from weir.utility import utility_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from weir.model import ConsumerClass, Flow, Problem

by_id = attrgetter("id")

PIECE = 10_000
"""Classes that are hashed at once."""


def _floats(amounts: Mapping[str, float]) -> dict[str, float]:
    return {key: float(amount) + 0.0 for key, amount in amounts.items()}


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """The plain form that `problem_from_dict` reads, in canonical order."""
    plain = {
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
                **_way(flow),
            }
            for flow in sorted(problem.flows, key=by_id)
        ],
        "classes": _classes(sorted(problem.classes, key=by_id)),
    }
    if problem.forwarding is not Forwarding.ALWAYS:  # the default is left out: one spelling
        plain["forwarding"] = problem.forwarding.value
    return plain


def _way(flow: Flow) -> dict[str, Any]:
    """Source and route, as far as they are given."""
    way: dict[str, Any] = {} if flow.source is None else {"source": flow.source}
    if flow.route:
        way["route"] = {
            node: {"from": hop.upstream} | ({} if hop.link is None else {"link": hop.link})
            for node, hop in flow.route.items()
        }
    return way


def _classes(ordered: Sequence[ConsumerClass]) -> list[dict[str, Any]]:
    # One dict per distinct utility or cost object: a million classes share a handful.
    utilities: dict[int, dict[str, Any]] = {}
    costs_seen: dict[int, dict[str, float]] = {}
    plain = []
    for consumers in ordered:
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


def _text(plain: object) -> str:
    return json.dumps(
        plain,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
        check_circular=False,
    )


def canonical_bytes(problem: Problem) -> bytes:
    """The problem as compact UTF-8 JSON; equal problems give equal bytes."""
    with paused():
        return _text(problem_to_dict(problem)).encode()


def content_hash(problem: Problem) -> str:
    """SHA-256 of the canonical bytes, in hex; a piece at a time, for a million classes are 300 MB.

    "classes" is the first key in the order of names, so the rest follows in one piece.
    """
    digest = hashlib.sha256(b'{"classes":[')
    with paused():
        ordered = sorted(problem.classes, key=by_id)
        for first in range(0, len(ordered), PIECE):
            piece = _text(_classes(ordered[first : first + PIECE]))[1:-1]
            digest.update((("," if first else "") + piece).encode())
        digest.update(b"],")
        rest = problem_to_dict(replace(problem, classes=()))
        del rest["classes"]
        digest.update(_text(rest)[1:].encode())
    return digest.hexdigest()
