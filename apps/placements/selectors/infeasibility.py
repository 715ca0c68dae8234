"""Explain why publishers have no room: who they are, what each broker takes, what would help."""

import json
from collections.abc import Mapping
from typing import Any

from apps.placements.domain.sentences import no_room, ways_out
from apps.runs.models import Run, RunResult
from weir.codec.placement import placement_from_json
from weir.model.placement import NOWHERE, PlacementProblem
from weir.placement.profiling import fitted

MOST_LISTED = 20
"""The number of publishers without room that are listed; `publishers` counts them all."""


def explain_infeasible(run: Run) -> dict[str, Any] | None:
    """Return who has no room and why; None where the answer is not stored."""
    stored = RunResult.objects.filter(run=run).values_list("payload", flat=True).first()
    if stored is None:
        return None
    problem = placement_from_json(bytes(run.snapshot.payload))
    return _explained(problem, json.loads(bytes(stored)))


def infeasible_sentence(problem: PlacementProblem, plain: Mapping[str, Any]) -> str:
    """Return the same in short: who has no room, and what would help."""
    explained = _explained(problem, plain)
    return " ".join([explained["sentence"], *explained["next_moves"]])


def _explained(problem: PlacementProblem, plain: Mapping[str, Any]) -> dict[str, Any]:
    # What is measured leaves less room than publish rates do.
    problem = fitted(problem)
    rows = _without_room(problem, set(plain["unassigned"]))
    rate = sum(row["rate_per_s"] for row in rows)
    rooms = _rooms(problem, plain)
    largest = max((broker.most_per_s for broker in problem.brokers), default=0.0)
    pinned = [(row["name"], row["pinned_to"]) for row in rows if row["pinned_to"] is not None]
    return {
        "topic": problem.contract.topic,
        "sentence": no_room(problem.contract.topic, len(rows), rate),
        "next_moves": ways_out(
            need_brokers=plain["need_brokers"],
            largest_room_per_s=largest,
            drained={
                broker.broker: broker.most_per_s - broker.allocated_rate_per_s
                for broker in problem.brokers
                if broker.drained
            },
            pinned=pinned,
            too_large=[
                (row["name"], row["rate_per_s"]) for row in rows if row["rate_per_s"] > largest
            ],
            slow=[
                broker.broker
                for broker in problem.brokers
                if broker.most_per_s < broker.max_rate_per_s and not broker.drained
            ],
        ),
        "publishers": len(rows),
        "rate_per_s": rate,
        "need_brokers": plain["need_brokers"],
        "without_room": rows[:MOST_LISTED],
        "rooms": rooms,
    }


def _without_room(problem: PlacementProblem, names: set[str]) -> list[dict[str, Any]]:
    """Return the publishers without room, the largest first."""
    publishers = problem.publishers
    rows = [
        {
            "name": name,
            "rate_per_s": rate,
            "group": None if group == NOWHERE else publishers.group_names[group],
            "pinned_to": None if pin == NOWHERE else problem.brokers[pin].broker,
        }
        for name, rate, group, pin in zip(
            publishers.names,
            problem.loads().tolist(),
            publishers.groups.tolist(),
            publishers.pinned.tolist(),
            strict=True,
        )
        if name in names
    ]
    return sorted(rows, key=lambda row: (-row["rate_per_s"], row["name"]))


def _rooms(problem: PlacementProblem, plain: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each broker takes, the one with most room left first."""
    given = {share["broker"]: share["rate_per_s"] for share in plain["shares"]}
    rows = [
        {
            "broker": broker.broker,
            "drained": broker.drained,
            "max_rate_per_s": broker.max_rate_per_s,
            "allocated_rate_per_s": broker.allocated_rate_per_s,
            "rate_per_s": given.get(broker.broker, 0.0),
            "room_per_s": max(0.0, broker.room_per_s - given.get(broker.broker, 0.0)),
        }
        for broker in problem.brokers
    ]
    return sorted(rows, key=lambda row: (-row["room_per_s"], row["broker"]))
