"""Describe why a run found no allocation."""

from typing import Any

from rest_framework import serializers

from apps.allocations.selectors.infeasibility import MAX_CHANGES


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
