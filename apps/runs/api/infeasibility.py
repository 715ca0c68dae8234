"""Describe why a run found no allocation."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.runs.selectors import Named

MAX_CHANGES = 100
"""The number of changes of one relaxation that are listed; `change_count` counts them all."""


def _object() -> serializers.UUIDField:
    return serializers.UUIDField(
        allow_null=True,
        help_text="The broker, link or topic of this name in the run's system now; null: none.",
    )


class FlowLoadSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a flow at a place with too little capacity."""

    flow = serializers.CharField()
    object = _object()
    load = serializers.FloatField(
        help_text="Load of the flow's minimum rate, units of work per second."
    )


class ShortageSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a node's resource or a link that cannot carry the minimum rates."""

    kind = serializers.ChoiceField(choices=[("node", "node"), ("link", "link")])
    id = serializers.CharField()
    object = _object()
    resource = serializers.CharField(
        allow_null=True, help_text="Resource of a node; null for a link."
    )
    load = serializers.FloatField(help_text="Load of the minimum rates, units of work per second.")
    capacity = serializers.FloatField(help_text="Units of work per second.")
    short = serializers.FloatField(help_text="Load minus capacity.")
    flows = FlowLoadSerializer(many=True, help_text="Flows that load it most, largest first.")


class RelaxedNumberSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one number of the model, as it is and as it would have to be."""

    kind = serializers.ChoiceField(choices=[("node", "node"), ("link", "link"), ("flow", "flow")])
    id = serializers.CharField()
    object = _object()
    resource = serializers.CharField(allow_null=True)
    before = serializers.FloatField()
    after = serializers.FloatField()


class RelaxationSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe changes that together make the problem feasible; no smaller ones of this kind do."""

    kind = serializers.ChoiceField(
        choices=[(kind, kind) for kind in ("capacities", "all_rates", "few_rates")]
    )
    sentence = serializers.CharField()
    changes = RelaxedNumberSerializer(many=True, help_text=f"The first {MAX_CHANGES}.")
    change_count = serializers.IntegerField()


class InfeasibilitySerializer(serializers.Serializer[dict[str, Any]]):
    """Describe every shortage, the worst first, and what would help."""

    shortages = ShortageSerializer(many=True)
    relaxations = RelaxationSerializer(many=True)


def infeasibility_names(stored: dict[str, Any]) -> dict[str, set[str]]:
    """Return the names in the frozen problem that are shown, by kind."""
    names: dict[str, set[str]] = {"node": set(), "link": set(), "flow": set()}
    for shortage in stored["shortages"]:
        names[shortage["kind"]].add(shortage["id"])
        names["flow"] |= {flow for flow, _ in shortage["flows"]}
    for relaxation in stored["relaxations"]:
        for change in relaxation["changes"][:MAX_CHANGES]:
            names[change["kind"]].add(change["id"])
    return names


def infeasibility_shown(stored: dict[str, Any], objects: Named) -> dict[str, Any]:
    """Return the kernel's record as `InfeasibilitySerializer` describes it."""

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
