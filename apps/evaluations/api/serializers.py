"""Describe overlay evaluations and their candidates over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.evaluations.models import (
    Candidate,
    CandidateKind,
    Evaluation,
    Objective,
    TrafficSource,
)
from apps.evaluations.selectors.readings import candidate_commands, candidate_plans, is_current
from apps.plans.api.serializers import PLAN_STATES
from apps.runs.api.views import RUN_COMMANDS, RUN_STATES, RunSerializer


class TrafficSummarySerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the traffic by which the candidates were compared."""

    source = serializers.ChoiceField(choices=TrafficSource.choices)  # type: ignore[assignment]
    detail = serializers.CharField(help_text="Where the rates come from, in words.")
    window_s = serializers.FloatField(help_text="Rates are means over this time.")
    flows = serializers.IntegerField(help_text="Flows that cross at least one link.")
    published_per_s = serializers.FloatField(help_text="All that publishers send, msg/s.")


class FrontierPointSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a plan such that none has both fewer actions and fewer steps."""

    actions = serializers.IntegerField()
    steps_count = serializers.IntegerField()
    transformation_cost = serializers.FloatField()
    net_benefit = serializers.FloatField()
    planner = serializers.CharField()
    objective = serializers.ChoiceField(choices=Objective.choices)


class MoveSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one action, spelt as in docs/formats.md."""

    op = serializers.ChoiceField(choices=["shift", "append", "detach", "move", "exchange"])
    broker = serializers.CharField()
    to = serializers.CharField(required=False)
    at = serializers.CharField(required=False)

    def get_fields(self) -> Any:
        """Return the fields, adding `from`, which is a word of Python and cannot be declared
        above."""
        return {**super().get_fields(), "from": serializers.CharField(required=False)}


class MomentLinkSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the traffic on a link after a step."""

    a = serializers.CharField()
    b = serializers.CharField()
    traffic_per_s = serializers.FloatField(help_text="Both directions, msg/s.")


class MomentBrokerSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a broker handles after a step."""

    broker = serializers.CharField()
    handled_per_s = serializers.FloatField(help_text="msg/s in and out.")


class MomentSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the overlay before the first step, or after a step; null when too large for
    figures."""

    routing_cost_per_s = serializers.FloatField(allow_null=True)
    traffic_per_s = serializers.FloatField(allow_null=True, help_text="Messages on links, msg/s.")
    in_flight = serializers.FloatField(
        allow_null=True, help_text="Messages on their way over links."
    )
    busiest_broker = serializers.CharField()
    busiest_share = serializers.FloatField(
        allow_null=True, help_text="Of its capacity, 0 to 1 and above."
    )
    removed = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Links that this step takes away.",
    )
    added = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Links that this step makes.",
    )
    links = MomentLinkSerializer(
        many=True,
        default=list,
        help_text="All links before the first step, then those whose load the step changes; "
        "empty: too large for figures.",
    )
    brokers = MomentBrokerSerializer(many=True, default=list, help_text="The same of the brokers.")


class CandidateBrokerSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a broker handles, now and in the candidate."""

    broker = serializers.CharField()
    now_per_s = serializers.FloatField(help_text="msg/s in and out.")
    then_per_s = serializers.FloatField()
    capacity_per_s = serializers.FloatField(allow_null=True, help_text="null: not known.")


class CandidateLinkSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the traffic on a link of the candidate."""

    a = serializers.CharField()
    b = serializers.CharField()
    traffic_per_s = serializers.FloatField()
    latency_s = serializers.FloatField()
    measured = serializers.BooleanField(help_text="The latency is the model's, not estimated.")


class CandidatePlanSerializer(serializers.Serializer[Any]):
    """Describe a plan that was made of the candidate."""

    id = serializers.UUIDField(source="public_id")
    name = serializers.CharField(source="__str__")
    state = serializers.ChoiceField(choices=PLAN_STATES)
    created_at = serializers.DateTimeField()


def figure(help_text: str, field: type[Any] = serializers.FloatField) -> Any:
    """Return a field for a number that is null without a tree or without a plan for it."""
    return field(read_only=True, allow_null=True, help_text=help_text)


CANDIDATE_STATUSES = choices("designed", "time_limit", "infeasible", "failed")
PLAN_STATUSES = choices("optimal", "solved", "time_limit", "infeasible", "no_plan", "failed")
CANDIDATE_COMMANDS = choices("plan", "plan_again")


class CandidateSerializer(serializers.ModelSerializer[Candidate]):
    """Describe one candidate of a comparison. Costs are in link messages: one message over one
    link."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    evaluation = serializers.UUIDField(source="evaluation.public_id", read_only=True)
    evaluation_name = serializers.CharField(source="evaluation.__str__", read_only=True)
    system = serializers.UUIDField(source="evaluation.system.public_id", read_only=True)
    kind = serializers.ChoiceField(choices=CandidateKind.choices, read_only=True)
    system_name = serializers.CharField(source="evaluation.system.name", read_only=True)
    goal_name = serializers.CharField(
        source="goal.name", read_only=True, allow_null=True, default=None
    )
    goal = serializers.UUIDField(
        source="goal.public_id", read_only=True, allow_null=True, default=None
    )
    status = serializers.ChoiceField(choices=CANDIDATE_STATUSES, read_only=True)
    reason = serializers.CharField(
        read_only=True, help_text="Why there is no tree, or no plan for it."
    )
    same_as = serializers.CharField(
        read_only=True, help_text="An earlier candidate with the same links."
    )
    routing_cost_per_s = figure(
        "Routing cost by the weights, overload included; candidates are compared by it."
    )
    traffic_per_s = figure("Messages over links, msg/s.")
    in_flight = figure("Messages on links at any moment.")
    busiest_share = figure("Of the capacity of `busiest_broker`, 0 to 1 and above.")
    overloaded = serializers.ListField(child=serializers.CharField(), read_only=True)
    max_degree = figure("Links of the broker with most.", serializers.IntegerField)
    saved_per_s = figure("Routing cost below that of today's tree.")
    plan_status = serializers.ChoiceField(
        choices=PLAN_STATUSES,
        allow_blank=True,
        read_only=True,
        help_text="Empty: nobody planned for it.",
    )
    actions = figure("Actions of its plan.", serializers.IntegerField)
    lower_bound_actions = figure("No plan has fewer.", serializers.IntegerField)
    steps_count = figure("Steps of its plan.", serializers.IntegerField)
    lower_bound_steps = figure("No plan has fewer.", serializers.IntegerField)
    transformation_cost = figure("Cost of the transformation, in link messages.")
    held_messages = figure("Messages that wait for an action somewhere.")
    pause_s = figure("The shortest time that the steps can take, s.")
    disturbed_subscribers = figure(
        "Subscribers of topics that cross a link while it moves.", serializers.IntegerField
    )
    net_benefit = figure("Saved over the horizon, less the transformation cost.")
    frontier = FrontierPointSerializer(many=True, read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Candidate
        fields = [
            *(
                "id",
                "evaluation",
                "evaluation_name",
                "system",
                "system_name",
                "goal_name",
                "index",
                "kind",
                "name",
                "method",
            ),
            *("seed", "title", "goal", "rank", "chosen", "status", "reason", "same_as"),
            *("routing_cost_per_s", "traffic_per_s", "in_flight", "busiest_broker"),
            *("busiest_share", "overloaded", "max_degree", "links_changed", "saved_per_s"),
            *("planner", "plan_status", "actions", "lower_bound_actions", "steps_count"),
            *("lower_bound_steps", "transformation_cost", "held_messages", "pause_s"),
            *("disturbed_subscribers", "net_benefit", "runtime_s", "frontier"),
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(CANDIDATE_COMMANDS))
    def get_allowed_commands(self, candidate: Candidate) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.PROPOSE_PLAN not in granted(request):
            return []
        return candidate_commands(candidate)


class CandidateDetailSerializer(CandidateSerializer):
    """Describe a candidate with its tree, the plan for it and every state between."""

    edges = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        read_only=True,
        help_text="The candidate's links, as pairs of broker names.",
    )
    edges_before = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        source="evaluation.edges",
        read_only=True,
        help_text="Links of the overlay in force that the evaluation began from.",
    )
    steps = serializers.ListField(child=MoveSerializer(many=True), read_only=True)
    moments = MomentSerializer(many=True, read_only=True)
    brokers = CandidateBrokerSerializer(many=True, read_only=True)
    links = CandidateLinkSerializer(many=True, read_only=True)
    plans = serializers.SerializerMethodField(
        help_text="Plans made of the candidate, newest first."
    )

    class Meta(CandidateSerializer.Meta):
        fields = [
            *CandidateSerializer.Meta.fields,
            *("edges", "edges_before", "steps", "moments", "brokers", "links", "plans"),
        ]
        read_only_fields = fields

    @extend_schema_field(CandidatePlanSerializer(many=True))
    def get_plans(self, candidate: Candidate) -> Any:
        return CandidatePlanSerializer(candidate_plans(candidate), many=True).data


class EvaluationSerializer(serializers.ModelSerializer[Evaluation]):
    """Describe an evaluation; its candidates have a list of their own."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    state = serializers.ChoiceField(source="run.state", choices=RUN_STATES, read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    failure = serializers.CharField(source="run.failure", read_only=True)
    progress = serializers.DictField(source="run.progress", read_only=True)
    cancel_requested = serializers.SerializerMethodField()
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True, allow_null=True)
    finished_at = serializers.DateTimeField(
        source="run.finished_at", read_only=True, allow_null=True
    )
    model_version = serializers.IntegerField(
        source="run.snapshot.model_version", read_only=True, allow_null=True
    )
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    overlay = serializers.UUIDField(
        source="overlay.public_id", read_only=True, allow_null=True, default=None
    )
    current = serializers.SerializerMethodField(
        help_text="The model is still the one that was evaluated, so a candidate can be planned."
    )
    goals = serializers.ListField(child=serializers.CharField(), read_only=True)
    methods = serializers.ListField(child=serializers.DictField(), read_only=True)
    planners = serializers.ListField(child=serializers.DictField(), read_only=True)
    seeds = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    options = serializers.DictField(read_only=True)
    traffic = TrafficSummarySerializer(read_only=True)
    why = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="What is recommended, with the figures that decide.",
    )
    continues = serializers.UUIDField(
        source="continues.public_id", read_only=True, allow_null=True, default=None
    )
    continues_name = serializers.CharField(
        source="continues", read_only=True, allow_null=True, default=None
    )
    author_id = serializers.UUIDField(
        source="author.public_id", read_only=True, allow_null=True, default=None
    )
    author = serializers.CharField(
        source="author.display_name", read_only=True, allow_null=True, default=None
    )
    candidates_count = serializers.IntegerField(read_only=True)
    chosen = serializers.UUIDField(
        source="chosen_id", read_only=True, allow_null=True, help_text="The best candidate."
    )
    chosen_name = serializers.CharField(read_only=True, allow_null=True)
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Evaluation
        fields = [
            *("id", "number", "name", "system", "system_name", "state", "run", "run_number"),
            *("failure", "progress", "cancel_requested", "created_at", "updated_at", "started_at"),
            *("finished_at", "model_version", "snapshot_hash", "overlay", "overlay_name"),
            *("current", "goals", "objective", "methods", "planners", "seeds", "options"),
            *("horizon_s", "window_s", "traffic", "shift_pause_s", "shifts_measured"),
            *("note", "why", "continues", "continues_name", "author", "author_id"),
            *("candidates_count", "chosen", "chosen_name", "allowed_commands"),
        ]
        read_only_fields = fields

    def get_cancel_requested(self, evaluation: Evaluation) -> bool:
        return evaluation.run.cancel_requested_at is not None

    def get_current(self, evaluation: Evaluation) -> bool:
        return is_current(evaluation)

    @extend_schema_field(command_list(RUN_COMMANDS))
    def get_allowed_commands(self, evaluation: Evaluation) -> list[str]:
        return RunSerializer(context=self.context).get_allowed_commands(evaluation.run)
