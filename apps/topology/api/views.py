"""Serve brokers, links and overlays over the REST API."""

from typing import Any

from rest_framework import serializers

from apps.systems.api.entities import (
    EntityFilter,
    EntitySerializer,
    EntityViewSet,
    Reference,
    RowSerializer,
    reference_filter,
)
from apps.systems.api.imports import ImportedViewSet
from apps.topology.models import Broker, BrokerCapacity, Link, Overlay, OverlayEdge, OverlayPurpose
from apps.topology.services import LEADS_MESSAGES, edges_of, overlay_edit_check
from weir.actions import edge


class BrokerCapacitySerializer(RowSerializer[BrokerCapacity]):
    """Describe a broker's capacity of one resource."""

    class Meta:
        model = BrokerCapacity
        fields = ["resource", "capacity"]


class BrokerSerializer(EntitySerializer[Broker]):
    """Describe a broker with its capacities."""

    capacities = BrokerCapacitySerializer(many=True)

    class Meta:
        model = Broker
        fields = [
            *EntitySerializer.BASE_FIELDS,
            "region",
            "map_x",
            "map_y",
            "publish_rate_max_per_s",
            "capacities",
        ]
        extra_kwargs = {name: {"max_value": 1} for name in ("map_x", "map_y")}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        system = attrs.get("system") or getattr(self.instance, "system", None)
        check_resources(attrs.get("capacities", []), system, "capacities")
        return attrs


def check_resources(rows: list[dict[str, Any]], system: Any, field: str) -> None:
    """Refuse a resource that the system does not have."""
    for index, row in enumerate(rows):
        if system is not None and row["resource"] not in system.resources:
            known = ", ".join(system.resources)
            raise serializers.ValidationError(
                {f"{field}[{index}].resource": f'No resource "{row["resource"]}": {known}.'}
            )


class LinkSerializer(EntitySerializer[Link]):
    """Describe a link between two brokers."""

    source = Reference(Broker)  # type: ignore[assignment]
    target = Reference(Broker)
    source_name = serializers.CharField(source="source.name", read_only=True)
    target_name = serializers.CharField(source="target.name", read_only=True)

    class Meta:
        model = Link
        fields = [
            *EntitySerializer.BASE_FIELDS,
            "source",
            "source_name",
            "target",
            "target_name",
            "capacity",
            "latency_s",
        ]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        source = attrs.get("source", getattr(self.instance, "source", None))
        if source == attrs.get("target", getattr(self.instance, "target", None)):
            raise serializers.ValidationError({"target": "A link joins two different brokers."})
        return attrs


class OverlayEdgeSerializer(RowSerializer[OverlayEdge]):
    """Describe one edge of a tree."""

    a = Reference(Broker)
    b = Reference(Broker)
    a_name = serializers.CharField(source="a.name", read_only=True)
    b_name = serializers.CharField(source="b.name", read_only=True)

    class Meta:
        model = OverlayEdge
        fields = ["a", "a_name", "b", "b_name"]
        validators: list[Any] = []


class OverlaySerializer(EntitySerializer[Overlay]):
    """Describe a tree of brokers."""

    edges = OverlayEdgeSerializer(many=True)

    class Meta:
        model = Overlay
        fields = [*EntitySerializer.BASE_FIELDS, "purpose", "in_force", "note", "edges"]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        system = attrs.get("system") or getattr(self.instance, "system", None)
        if system is not None:
            overlay_edit_check(system, self.instance, self._moved(attrs))
        if not attrs.get("in_force", getattr(self.instance, "in_force", False)):
            return attrs
        purpose = attrs.get("purpose", getattr(self.instance, "purpose", OverlayPurpose.OVERLAY))
        if purpose != OverlayPurpose.OVERLAY:
            raise serializers.ValidationError({"in_force": "A goal topology is not in force."})
        others = Overlay.objects.filter(system=system, in_force=True)
        if self.instance is not None:
            others = others.exclude(pk=self.instance.pk)
        now = others.first()
        if now is not None:
            raise serializers.ValidationError({"in_force": f"{now} is in force; end that first."})
        return attrs

    def _moved(self, attrs: dict[str, Any]) -> set[str]:
        """Return the members that decide where messages go and that differ from the overlay."""
        overlay = self.instance
        if overlay is None:
            return {"in_force"} if attrs.get("in_force") else set()
        moved = {
            name
            for name in ("in_force", "purpose")
            if attrs.get(name, getattr(overlay, name)) != getattr(overlay, name)
        }
        if "edges" in attrs:
            wanted = {edge(row["a"].name, row["b"].name) for row in attrs["edges"]}
            if wanted != edges_of(overlay):
                moved.add("edges")
        return moved


class LinkFilter(EntityFilter):
    """Filter links by the broker at either end."""

    source = reference_filter("source")
    target = reference_filter("target")

    class Meta:
        model = Link
        fields: list[str] = []


class OverlayFilter(EntityFilter):
    """Filter overlays by their purpose."""

    class Meta:
        model = Overlay
        fields = ["purpose", "in_force"]


class BrokerFilter(EntityFilter):
    """Filter brokers by their region."""

    class Meta:
        model = Broker
        fields = ["region"]


class BrokerViewSet(ImportedViewSet[Broker]):
    """Manage brokers (nodes of the model) with capacities per resource."""

    queryset = Broker.objects.select_related("system").prefetch_related("capacities")
    serializer_class = BrokerSerializer
    filterset_class = BrokerFilter
    search_fields = ["name", "external_id", "region"]
    ordering_fields = ["name", "region", "updated_at", "created_at"]


class LinkViewSet(ImportedViewSet[Link]):
    """Manage links with their capacities."""

    queryset = Link.objects.select_related("system", "source", "target")
    serializer_class = LinkSerializer
    filterset_class = LinkFilter
    search_fields = ["name", "external_id", "source__name", "target__name"]
    ordering_fields = ["name", "capacity", "latency_s", "updated_at", "created_at"]


class OverlayViewSet(EntityViewSet[Overlay]):
    """Manage overlays (versioned trees) and goal topologies."""

    queryset = Overlay.objects.select_related("system").prefetch_related("edges__a", "edges__b")
    serializer_class = OverlaySerializer
    filterset_class = OverlayFilter
    search_fields = ["name", "external_id", "note"]
    ordering_fields = ["name", "purpose", "updated_at", "created_at"]

    def check_delete(self, instance: Overlay) -> None:
        """Refuse to delete a tree that agents route by."""
        overlay_edit_check(instance.system, instance, LEADS_MESSAGES - {"in_force"})
