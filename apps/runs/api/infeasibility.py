"""Why a run found no allocation, as the API tells it."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.runs.selectors import Named

MAX_CHANGES = 100
"""Changes of one relaxation that are listed; `change_count` counts them all."""


def _object() -> serializers.UUIDField:
    return serializers.UUIDField(
        allow_null=True,
        help_text="The broker, link or topic of this name in the run's system now; null: none.",
    )


class FlowLoadSerializer(serializers.Serializer[dict[str, Any]]):
    """A flow at a place that is short."""

    flow = serializers.CharField()
    object = _object()
    load = serializers.FloatField(help_text="Of its minimum rate, units of work per second.")


class ShortageSerializer(serializers.Serializer[dict[str, Any]]):
    """A node's resource or a link that cannot carry the minimum rates."""

    kind = serializers.ChoiceField(choices=[("node", "node"), ("link", "link")])
    id = serializers.CharField()
    object = _object()
    resource = serializers.CharField(allow_null=True, help_text="Of a node; null for a link.")
    load = serializers.FloatField(help_text="Of the minimum rates, units of work per second.")
    capacity = serializers.FloatField(help_text="Units of work per second.")
    short = serializers.FloatField(help_text="Load minus capacity.")
    flows = FlowLoadSerializer(many=True, help_text="Those that load it most, largest first.")


class RelaxedNumberSerializer(serializers.Serializer[dict[str, Any]]):
    """One number of the model, as it is and as it would have to be."""

    kind = serializers.ChoiceField(choices=[("node", "node"), ("link", "link"), ("flow", "flow")])
    id = serializers.CharField()
    object = _object()
    resource = serializers.CharField(allow_null=True)
    before = serializers.FloatField()
    after = serializers.FloatField()


class RelaxationSerializer(serializers.Serializer[dict[str, Any]]):
    """Changes that together make the problem feasible; no smaller ones of this kind do."""

    kind = serializers.ChoiceField(
        choices=[(kind, kind) for kind in ("capacities", "all_rates", "few_rates")]
    )
    sentence = serializers.CharField()
    changes = RelaxedNumberSerializer(many=True, help_text=f"The first {MAX_CHANGES}.")
    change_count = serializers.IntegerField()


class InfeasibilitySerializer(serializers.Serializer[dict[str, Any]]):
    """Everything that is short, the worst first, and what would help."""

    shortages = ShortageSerializer(many=True)
    relaxations = RelaxationSerializer(many=True)


def infeasibility_names(stored: dict[str, Any]) -> dict[str, set[str]]:
    """Of what is shown: kind -> names in the frozen problem."""
    names: dict[str, set[str]] = {"node": set(), "link": set(), "flow": set()}
    for shortage in stored["shortages"]:
        names[shortage["kind"]].add(shortage["id"])
        names["flow"] |= {flow for flow, _ in shortage["flows"]}
    for relaxation in stored["relaxations"]:
        for change in relaxation["changes"][:MAX_CHANGES]:
            names[change["kind"]].add(change["id"])
    return names


def infeasibility_shown(stored: dict[str, Any], objects: Named) -> dict[str, Any]:
    """The kernel's record as `InfeasibilitySerializer` describes it."""

    def found(kind: str, name: str) -> UUID | None:
        return objects.get((kind, name))

    return {
        "shortages": [
            {
                **one,
                "object": found(one["kind"], one["id"]),
                "short": one["load"] - one["capacity"],
                "flows": [
                    {"flow": flow, "object": found("flow", flow), "load": load}
                    for flow, load in one["flows"]
                ],
            }
            for one in stored["shortages"]
        ],
        "relaxations": [
            {
                **one,
                "changes": [
                    {**change, "object": found(change["kind"], change["id"])}
                    for change in one["changes"][:MAX_CHANGES]
                ],
                "change_count": len(one["changes"]),
            }
            for one in stored["relaxations"]
        ],
    }
