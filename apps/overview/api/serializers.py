"""Describe the overview over the REST API."""

from typing import Any

from rest_framework import serializers

from apps.allocations.api.serializers import AllocationSerializer
from apps.overview.selectors.levels import LoadBasis
from apps.runs.api.views import RunSerializer
from apps.telemetry.api.serializers import BacklogSerializer

LOAD_BASES = [(basis.value, basis.value) for basis in LoadBasis]


class NodeLevelSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the fullest resource of a broker, as a share of its capacity."""

    name = serializers.CharField()
    utilisation = serializers.FloatField()


class LoadsSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the loads of a system's brokers, and their source."""

    basis = serializers.ChoiceField(
        choices=LOAD_BASES,
        help_text="measured: by agents, over the last minute. in_force: computed for the "
        "allocation that stands. proposed: computed for one that does not. none: nothing is "
        "known.",
    )
    detail = serializers.CharField(help_text="A sentence.")
    allocation = serializers.UUIDField(
        source="allocation.public_id",
        allow_null=True,
        default=None,
        help_text="The allocation of these loads; null where they are measured.",
    )
    allocation_name = serializers.CharField(source="allocation", allow_null=True, default=None)


class OverviewSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one system at a glance."""

    id = serializers.UUIDField(source="system.public_id")
    name = serializers.CharField(source="system.name")
    description = serializers.CharField(source="system.description")
    product = serializers.CharField(source="system.product")
    product_name = serializers.CharField(source="system.get_product_display")
    model_version = serializers.IntegerField(source="system.model_version")
    brokers = serializers.IntegerField()
    topics = serializers.IntegerField()
    consumer_classes = serializers.IntegerField()
    active_runs = serializers.IntegerField()
    latest_run = RunSerializer(allow_null=True)
    latest_allocation = AllocationSerializer(
        allow_null=True, help_text="The best of the snapshot that was computed last: a proposal."
    )
    allocation_in_force = AllocationSerializer(
        allow_null=True, help_text="The allocation whose plan was carried out last."
    )
    model_moved = serializers.BooleanField(
        help_text="The model was edited after the latest allocation's snapshot."
    )
    loads = LoadsSerializer()
    node_loads = NodeLevelSerializer(many=True, help_text="Highest first.")
    backlogs = BacklogSerializer(
        many=True, help_text="Reliable topics whose waiting messages grow or are full; worst first."
    )
