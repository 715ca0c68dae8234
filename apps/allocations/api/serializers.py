"""Describe allocations over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.allocations.domain.causes import ModelChange
from apps.allocations.models import Allocation, ClassPopulation, FlowRate, ResourceLoad
from apps.allocations.selectors.against import KINDS, QuantityChange
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.common.api.fields import Amount, choices, command_list
from apps.common.api.forms import Form
from apps.runs.api.views import RunSerializer
from apps.systems.api.entities import Reference
from apps.systems.models import System


class AllocationRequestSerializer(Form[dict[str, Any]]):
    """Read how to optimize a system."""

    method = serializers.CharField(
        required=False, default="certified", help_text="A name from /optimizers."
    )
    parameters = serializers.DictField(
        required=False, default=dict, help_text="As /optimizers describes them."
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**31 - 1)
    time_limit_s = Amount(
        required=False, allow_null=True, default=None, min_value=0.1, max_value=86_400
    )


class SystemAllocationRequestSerializer(AllocationRequestSerializer):
    """Read which system to optimize, and how."""

    system = Reference(System)
    cold = serializers.BooleanField(
        required=False,
        help_text="Do not start from the prices of the system's last allocation.",
    )


class ProblemAllocationRequestSerializer(AllocationRequestSerializer):
    """Read a problem of the caller (docs/formats.md, Allocation), and how to optimize it."""

    problem = serializers.DictField()


class AllocationPlanSerializer(Form[dict[str, Any]]):
    """Read the title of the plan."""

    title = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Default: what it changes, such as `Enact A-3: 9 rates, 27 limits`.",
    )
    judged = serializers.BooleanField(
        required=False,
        help_text="false: enact all of it, whatever the policy says of band, dwell and charge.",
    )


STATUSES = choices("optimal", "solved", "not_converged", "time_limit", "infeasible")
ALLOCATION_COMMANDS = choices("cancel", "rerun", "compare", "plan")


class AllocationSerializer(serializers.ModelSerializer[Allocation]):
    """Describe an allocation without its rows."""

    status = serializers.ChoiceField(choices=STATUSES, read_only=True)
    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True, allow_null=True)
    system_name = serializers.CharField(source="system.name", read_only=True, allow_null=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    model_version = serializers.IntegerField(
        source="run.snapshot.model_version", read_only=True, allow_null=True
    )
    demand_estimate = serializers.UUIDField(
        source="run.snapshot.demand.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The estimate of demand that it saw; null: it saw the model's figures.",
    )
    demand_estimate_name = serializers.CharField(
        source="run.snapshot.demand", read_only=True, allow_null=True, default=None
    )
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    seed = serializers.IntegerField(source="run.seed", read_only=True)
    asked_by = serializers.CharField(
        source="run.asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    asked_by_id = serializers.UUIDField(
        source="run.asked_by.public_id", read_only=True, allow_null=True, default=None
    )
    started_from = serializers.CharField(
        source="run.starts_from.allocation",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The allocation at whose prices and rates the run began, such as `A-26`.",
    )
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", read_only=True)
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Allocation
        fields = [
            "id",
            "number",
            "system",
            "system_name",
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
            "demand_estimate",
            "demand_estimate_name",
            "snapshot_hash",
            "seed",
            "asked_by",
            "asked_by_id",
            "started_from",
            "started_at",
            "finished_at",
            "created_at",
            "updated_at",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(ALLOCATION_COMMANDS))
    def get_allowed_commands(self, allocation: Allocation) -> list[str]:
        commands = RunSerializer(context=self.context).get_allowed_commands(allocation.run)
        if "rerun" in commands:
            commands = [*commands, "compare"]
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
    """Describe an allocation with its trace, its bounds and the ones to compare it with."""

    trace = serializers.ListField(
        child=serializers.FloatField(), read_only=True, help_text="Utility of each iteration."
    )
    bounds = serializers.ListField(
        child=serializers.FloatField(),
        read_only=True,
        help_text="Best upper bound after each iteration; empty where the method proves none.",
    )
    moments = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(), min_length=2, max_length=2),
        read_only=True,
        help_text=(
            "Pairs of iteration and seconds of computing until its end, not of every iteration; "
            "empty where the job could not tell."
        ),
    )
    previous = serializers.SerializerMethodField(help_text="The previous allocation of its system.")
    in_force = serializers.SerializerMethodField(
        help_text="The allocation of its system whose plan was carried out last."
    )
    compared_with = serializers.SerializerMethodField(
        help_text="What /comparison compares with by default; null: nothing."
    )

    class Meta(AllocationSerializer.Meta):
        fields = [
            *AllocationSerializer.Meta.fields,
            "trace",
            "bounds",
            "moments",
            "previous",
            "in_force",
            "compared_with",
        ]
        read_only_fields = fields

    def get_previous(self, allocation: Allocation) -> str | None:
        return self._named("previous")

    def get_in_force(self, allocation: Allocation) -> str | None:
        return self._named("in_force")

    def get_compared_with(self, allocation: Allocation) -> str | None:
        return self._named("usual_other")

    def _named(self, role: str) -> str | None:
        other: Allocation | None = self.context.get(role)
        return str(other.public_id) if other else None


class FlowRateSerializer(serializers.ModelSerializer[FlowRate]):
    """Describe the rate of one flow against its bounds, in msg/s."""

    nodes = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = FlowRate
        exclude = ["id", "allocation"]


class ClassPopulationSerializer(serializers.ModelSerializer[ClassPopulation]):
    """Describe how many of a class's consumers are admitted."""

    class Meta:
        model = ClassPopulation
        exclude = ["id", "allocation"]


class ResourceLoadSerializer(serializers.ModelSerializer[ResourceLoad]):
    """Describe the load of a node's resource or of a link against its capacity, with its price."""

    class Meta:
        model = ResourceLoad
        exclude = ["id", "allocation"]


class ChangeSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the former and new value of one quantity."""

    name = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class ModelChangeSerializer(serializers.Serializer[ModelChange]):
    """Describe one difference of the models behind two allocations."""

    what = serializers.ChoiceField(choices=["node", "link", "flow", "class"])
    name = serializers.CharField()
    field = serializers.CharField(
        help_text="`added`, `removed`, or what changed, such as `capacity`."
    )
    detail = serializers.CharField(help_text="Which resource, node or link of it.")
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    before_text = serializers.CharField(help_text="What is not a number: a utility, a broker.")
    after_text = serializers.CharField()


class QuantityChangeSerializer(serializers.Serializer[QuantityChange]):
    """Describe one quantity that differs between two allocations; null where one does not have
    it."""

    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    detail = serializers.CharField(help_text="Resource of a node's price; flow of a class.")
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    share = serializers.FloatField(help_text="Relative change, 0 to 1.")


class ChangeCountsSerializer(serializers.Serializer[dict[str, int]]):
    """Count how many quantities of each kind differ."""

    rate = serializers.IntegerField()
    admitted = serializers.IntegerField()
    node_price = serializers.IntegerField()
    link_price = serializers.IntegerField()


class ComparisonSerializer(serializers.Serializer[dict[str, Any]]):
    """Compare an allocation with another one."""

    other = serializers.UUIDField()
    other_number = serializers.IntegerField()
    other_model_version = serializers.IntegerField(allow_null=True)
    other_method = serializers.CharField()
    other_in_force = serializers.BooleanField()
    causes = ModelChangeSerializer(many=True, help_text="What differs between the two models.")
    causes_in_all = serializers.IntegerField()
    causes_known = serializers.BooleanField(help_text="False: a model is too large to compare.")
    changes = QuantityChangeSerializer(many=True, help_text="The largest first, at most 500.")
    changes_in_all = ChangeCountsSerializer()
    utility = ChangeSerializer(
        help_text="Both by this allocation's utility functions; before is null: not known."
    )
    utility_by_other = ChangeSerializer(
        allow_null=True,
        help_text="Both by the other's utility functions; null: they are the same, or not known.",
    )
    admitted = ChangeSerializer()
    rates = ChangeSerializer(many=True)
    populations = ChangeSerializer(many=True)
    node_prices = ChangeSerializer(many=True)
    node_capacities = ChangeSerializer(many=True)
    link_prices = ChangeSerializer(many=True)


class OptimizerSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a method with its parameters."""

    name = serializers.CharField()
    is_default = serializers.BooleanField(
        help_text="Whether a request without a method gets this one."
    )
    title = serializers.CharField()
    summary = serializers.CharField()
    parameters = ParameterDescriptionSerializer(many=True)
