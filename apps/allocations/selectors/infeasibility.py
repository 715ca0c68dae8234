"""Explain why nothing fits: what is short, and what would help."""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from apps.catalog.models import Topic
from apps.runs.models import Run, RunResult
from apps.systems.models import System
from apps.topology.models import Broker, Link

MAX_CHANGES = 100
"""The number of changes of one relaxation that are listed; `change_count` counts them all."""

Named = Mapping[tuple[str, str], UUID]
"""Kind (`node`, `link`, `flow`) and name in a problem -> the object of that name."""


def explain_infeasible(run: Run) -> dict[str, Any] | None:
    """Return what the kernel found short and what would help; None where it kept nothing of it."""
    stored = RunResult.objects.filter(run=run).values_list("payload", flat=True).first()
    explained = None if stored is None else json.loads(bytes(stored)).get("infeasibility")
    if explained is None:
        return None
    return _shown(explained, _objects_named(run.system, _names(explained)))


def _names(stored: dict[str, Any]) -> dict[str, set[str]]:
    """Return the names in the frozen problem that are shown, by kind."""
    names: dict[str, set[str]] = {"node": set(), "link": set(), "flow": set()}
    for shortage in stored["shortages"]:
        names[shortage["kind"]].add(shortage["id"])
        names["flow"] |= {flow for flow, _ in shortage["flows"]}
    for relaxation in stored["relaxations"]:
        for change in relaxation["changes"][:MAX_CHANGES]:
            names[change["kind"]].add(change["id"])
    return names


def _shown(stored: dict[str, Any], objects: Named) -> dict[str, Any]:
    """Return the kernel's record with the present objects of its names."""

    def public_id_of(kind: str, name: str) -> UUID | None:
        return objects.get((kind, name))

    return {
        "shortages": [
            {
                **one,
                "object": public_id_of(one["kind"], one["id"]),
                "short": one["load"] - one["capacity"],
                "flows": [
                    {"flow": flow, "object": public_id_of("flow", flow), "load": load}
                    for flow, load in one["flows"]
                ],
            }
            for one in stored["shortages"]
        ],
        "relaxations": [
            {
                **one,
                "changes": [
                    {**change, "object": public_id_of(change["kind"], change["id"])}
                    for change in one["changes"][:MAX_CHANGES]
                ],
                "change_count": len(one["changes"]),
            }
            for one in stored["relaxations"]
        ],
    }


def _objects_named(system: System | None, names: Mapping[str, Collection[str]]) -> Named:
    """Return the brokers, links and topics that have these names now, which may differ from those
    at the time."""
    if system is None:
        return {}
    kinds = {"node": Broker, "link": Link, "flow": Topic}
    return {
        (kind, name): public_id
        for kind, wanted in names.items()
        for name, public_id in kinds[kind]
        ._default_manager.filter(system=system, name__in=wanted)
        .values_list("name", "public_id")
    }
