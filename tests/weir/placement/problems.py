"""Placement problems of the tests, as plain data and read."""

from __future__ import annotations

from typing import Any

from weir.codec.placement import placement_from_dict
from weir.model.placement import PlacementProblem


def plain(
    rates: list[float],
    room: list[float],
    *,
    groups: list[str | None] | None = None,
    more: dict[str, Any] | None = None,
    topic: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a topic of publishers with these rates, and empty brokers with this room."""
    names = groups or [None] * len(rates)
    whole = sum(rates)
    return {
        "topic": {
            "id": "t",
            "rate": whole,
            "token_rate": 1.1 * whole,
            "bucket": 40,
            **(topic or {}),
        },
        "brokers": [{"id": f"b{at}", "max_rate": rate} for at, rate in enumerate(room)],
        "publishers": [
            {"id": f"p{at:04}", "rate": rate, "group": group}
            for at, (rate, group) in enumerate(zip(rates, names, strict=True))
        ],
        **(more or {}),
    }


def problem(*given: Any, **named: Any) -> PlacementProblem:
    """Return the checked problem of `plain`."""
    return placement_from_dict(plain(*given, **named))
