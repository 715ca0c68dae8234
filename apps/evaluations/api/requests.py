"""Read the requests for overlay evaluations."""

from typing import Any

from rest_framework import serializers

from apps.common.api.fields import Amount
from apps.common.api.forms import Form
from apps.evaluations.models import Objective
from apps.evaluations.selectors.traffic import DEFAULT_WINDOW_S, LONGEST_WINDOW_S
from apps.evaluations.services.computation import DEFAULT_HORIZON_S, DEFAULT_TIME_LIMIT_S
from apps.evaluations.services.transform import LONGEST_S
from apps.systems.api.entities import Reference, SystemReference
from apps.topology.models import Overlay
from weir.planners import DEFAULT

LONGEST_HORIZON_S = 366 * 86_400.0
MOST_SEEDS = 16


class ChoiceOfMethodSerializer(Form[dict[str, Any]]):
    """Read a method or planner with its parameters."""

    name = serializers.CharField(max_length=64)
    parameters = serializers.DictField(required=False, default=dict)


class WeightsSerializer(Form[dict[str, Any]]):
    """Read the weights of routing costs, in link messages."""

    per_message = Amount(required=False, help_text="Per message and link; 1 if left out.")
    per_second = Amount(
        required=False, help_text="Per message and second on a link; 10 if left out."
    )
    per_overload = Amount(required=False, help_text="Per message above a capacity; 10 if left out.")


class EvaluationRequestSerializer(Form[dict[str, Any]]):
    """Read which system to evaluate, with which methods, and how plans may look."""

    system = SystemReference()
    goals = Reference(
        Overlay, many=True, required=False, help_text="Stored goal topologies to compare, too."
    )
    methods = ChoiceOfMethodSerializer(
        many=True, required=False, help_text="From /topology-methods; left out: all of them."
    )
    planners = ChoiceOfMethodSerializer(
        many=True, required=False, help_text=f"From /topology-planners; left out: {DEFAULT}."
    )
    objective = serializers.ChoiceField(choices=Objective.choices, default=Objective.ACTIONS)
    seeds = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=2**31 - 1),
        required=False,
        default=[0],
        min_length=1,
        max_length=MOST_SEEDS,
    )
    options = serializers.DictField(
        required=False,
        default=dict,
        help_text="As in docs/formats.md: max_degree, parallel, action_costs, frozen, "
        "move_goal_links.",
    )
    weights = WeightsSerializer(required=False, default=dict)
    horizon_s = Amount(
        required=False,
        default=DEFAULT_HORIZON_S,
        min_value=1.0,
        max_value=LONGEST_HORIZON_S,
        help_text="The time over which savings count.",
    )
    window_s = Amount(
        required=False,
        default=DEFAULT_WINDOW_S,
        min_value=1.0,
        max_value=LONGEST_WINDOW_S,
        help_text="Measured rates are means over this time.",
    )
    time_limit_s = Amount(
        required=False, default=DEFAULT_TIME_LIMIT_S, min_value=0.1, max_value=86_400
    )
    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=2000, help_text="Why."
    )

    # The view's context is one mutable dict, which also holds what reading computes.
    context: dict[str, Any]

    def to_internal_value(self, data: Any) -> Any:
        # Goals are looked up within the system, so that must be known before the fields run.
        if isinstance(data, dict):
            try:
                system = self.fields["system"].to_internal_value(data.get("system"))
            except serializers.ValidationError:
                system = None
            self.context["system"] = system
        return super().to_internal_value(data)


class CandidatePlanRequestSerializer(Form[dict[str, Any]]):
    """Read the title of the plan, and which of the candidate's plans to take."""

    title = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    objective = serializers.ChoiceField(
        choices=Objective.choices,
        required=False,
        default="",
        allow_blank=True,
        help_text="Which end of the candidate's frontier; left out: the plan that was ranked.",
    )


class TransformationRequestSerializer(Form[dict[str, Any]]):
    """Read a problem as in docs/formats.md, and how to plan it."""

    brokers = serializers.ListField(child=serializers.JSONField())
    initial = serializers.ListField(child=serializers.JSONField())
    goal = serializers.ListField(child=serializers.JSONField())
    options = serializers.DictField(required=False, default=dict)
    objective = serializers.ChoiceField(choices=Objective.choices, default=Objective.ACTIONS)
    method = serializers.CharField(required=False, default=DEFAULT, max_length=64)
    parameters = serializers.DictField(required=False, default=dict)
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**31 - 1)
    time_limit_s = Amount(required=False, default=2.0, min_value=0.05, max_value=LONGEST_S)
