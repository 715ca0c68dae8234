"""What allocations look like over REST."""

from typing import Any

from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.roles import Permission
from apps.allocations.models import Allocation, ClassPopulation, FlowRate, ResourceLoad
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.runs.api.views import RunSerializer
from apps.systems.api.entities import Reference
from apps.systems.models import System


class AllocationRequestSerializer(serializers.Serializer[dict[str, Any]]):
    """How to optimize."""

    method = serializers.CharField(
        required=False, default="lrgp", help_text="A name from /optimizers."
    )
    parameters = serializers.DictField(
        required=False, default=dict, help_text="As /optimizers describes them."
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**31 - 1)
    time_limit_s = serializers.FloatField(
        required=False, allow_null=True, default=None, min_value=0.1, max_value=86_400
    )


class SystemAllocationRequestSerializer(AllocationRequestSerializer):
    """Which system to optimize, and how."""

    system = Reference(System)


class ProblemAllocationRequestSerializer(AllocationRequestSerializer):
    """A problem of one's own (formats.md, section 1), and how to optimize it."""

    problem = serializers.DictField()


class AllocationPlanSerializer(serializers.Serializer[dict[str, Any]]):
    """What to call the plan."""

    title = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Default: what it changes, such as `Enact A-3: 9 rates, 27 limits`.",
    )


class AllocationSerializer(serializers.ModelSerializer[Allocation]):
    """An allocation without its rows."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True, allow_null=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    model_version = serializers.IntegerField(
        source="run.snapshot.model_version", read_only=True, allow_null=True
    )
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    seed = serializers.IntegerField(source="run.seed", read_only=True)
    asked_by = serializers.CharField(
        source="run.asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Allocation
        fields = [
            "id",
            "number",
            "system",
            "run",
            "run_number",
            "status",
            "method",
            "utility",
            "upper_bound",
            "iterations",
            "admitted",
            "wanted",
            "model_version",
            "snapshot_hash",
            "seed",
            "asked_by",
            "started_at",
            "finished_at",
            "created_at",
            "allowed_commands",
        ]
        read_only_fields = fields

    def get_allowed_commands(self, allocation: Allocation) -> list[str]:
        commands = RunSerializer(context=self.context).get_allowed_commands(allocation.run)
        request = self.context.get("request")
        if (
            request is not None
            and Permission.PROPOSE_PLAN in granted(request)
            and allocation.system is not None
            and allocation.run.snapshot.model_version == allocation.system.model_version
        ):
            commands = [*commands, "plan"]
        return commands


class AllocationDetailSerializer(AllocationSerializer):
    """An allocation with its trace and its predecessor."""

    trace = serializers.ListField(child=serializers.FloatField(), read_only=True)
    previous = serializers.SerializerMethodField()

    class Meta(AllocationSerializer.Meta):
        fields = [*AllocationSerializer.Meta.fields, "trace", "previous"]
        read_only_fields = fields

    def get_previous(self, allocation: Allocation) -> str | None:
        previous: Allocation | None = self.context.get("previous")
        return str(previous.public_id) if previous else None


class FlowRateSerializer(serializers.ModelSerializer[FlowRate]):
    """The rate of one flow against its bounds, msg/s."""

    nodes = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = FlowRate
        exclude = ["id", "allocation"]


class ClassPopulationSerializer(serializers.ModelSerializer[ClassPopulation]):
    """Admitted over wanted of one class."""

    class Meta:
        model = ClassPopulation
        exclude = ["id", "allocation"]


class ResourceLoadSerializer(serializers.ModelSerializer[ResourceLoad]):
    """Load of a node's resource or of a link against its capacity, with its price."""

    class Meta:
        model = ResourceLoad
        exclude = ["id", "allocation"]


class ChangeSerializer(serializers.Serializer[dict[str, Any]]):
    """Former and new value of one quantity."""

    name = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class ComparisonSerializer(serializers.Serializer[dict[str, Any]]):
    """An allocation against another one."""

    other = serializers.UUIDField()
    other_number = serializers.IntegerField()
    other_model_version = serializers.IntegerField(allow_null=True)
    utility = ChangeSerializer()
    admitted = ChangeSerializer()
    rates = ChangeSerializer(many=True)
    populations = ChangeSerializer(many=True)
    node_prices = ChangeSerializer(many=True)
    node_capacities = ChangeSerializer(many=True)
    link_prices = ChangeSerializer(many=True)


class NodeLevelSerializer(serializers.Serializer[dict[str, Any]]):
    """The fullest resource of a broker, as a share of its capacity."""

    name = serializers.CharField()
    utilisation = serializers.FloatField()


class OverviewSerializer(serializers.Serializer[dict[str, Any]]):
    """One system at a glance."""

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
    latest_allocation = AllocationSerializer(allow_null=True)
    model_moved = serializers.BooleanField(
        help_text="The model was edited after the latest allocation's snapshot."
    )
    node_loads = NodeLevelSerializer(many=True)


class OptimizerSerializer(serializers.Serializer[dict[str, Any]]):
    """A method with its parameters."""

    name = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    parameters = ParameterDescriptionSerializer(many=True)
