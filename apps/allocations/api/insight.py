"""Why a class got in or stayed out, over REST."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.allocations.selectors.explanations import Explained, class_explanation
from apps.allocations.services.trials import Trials, admission_trials
from apps.common.api.forms import Form
from weir.allocation.explanation import Explanation, Need, Verdict
from weir.scenarios.admission import Lever, Trial


class NeedSerializer(serializers.Serializer[Need]):
    """What one consumer takes of one resource of its node."""

    resource = serializers.CharField()
    cost = serializers.FloatField(help_text="Units of work per message.")
    units_per_s = serializers.FloatField()
    price = serializers.FloatField(help_text="Utility per unit.")
    worth = serializers.FloatField(help_text="Its part of the price of one.")
    room = serializers.FloatField(help_text="Units per second that the node has left.")
    price_at_margin = serializers.FloatField(
        allow_null=True,
        help_text="Price at which one would bring just what it costs; null: at no price.",
    )


class ExplanationSerializer(serializers.Serializer[Explanation]):
    """Value against price of one consumer; the levers hold everything else still."""

    consumer_class = serializers.CharField()
    flow = serializers.CharField()
    node = serializers.CharField()
    rate_per_s = serializers.FloatField()
    admitted = serializers.IntegerField()
    wanted = serializers.IntegerField()
    value = serializers.FloatField(help_text="Utility of one consumer at the rate.")
    price = serializers.FloatField(help_text="What the resources that one takes are worth.")
    price_per_message = serializers.FloatField()
    needs = NeedSerializer(many=True)
    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
    binding = serializers.CharField(
        allow_null=True, help_text="The resource that makes up most of the price."
    )
    fits = serializers.BooleanField(help_text="One more would fit into the room left.")
    given_up = serializers.FloatField(
        help_text="Utility that the number admitted gives up against what the prices ask for."
    )
    scale = serializers.FloatField()
    scale_name = serializers.CharField(
        allow_null=True, help_text="The parameter that multiplies the whole utility."
    )
    scale_at_margin = serializers.FloatField(allow_null=True)
    rate_at_margin_per_s = serializers.FloatField(
        allow_null=True, help_text="Nearest allowed rate at which the verdict turns."
    )


class ExplainedSerializer(serializers.Serializer[Explained]):
    """The explanation of one class, and how far the whole allocation may be from the best."""

    explanation = ExplanationSerializer()
    gap = serializers.FloatField(
        allow_null=True, help_text="Utility given up at most in all; null: no bound is proven."
    )
    has_prices = serializers.BooleanField()


class TrialSerializer(serializers.Serializer[Trial]):
    """A lever where it stood at last, and what solving again then gave."""

    lever = serializers.ChoiceField(choices=[lever.value for lever in Lever])
    resource = serializers.CharField(help_text="Whose capacity; empty for the other levers.")
    before = serializers.FloatField(
        help_text="`worth`: 1; `rate`: msg/s; `capacity`: units per second."
    )
    after = serializers.FloatField()
    admitted = serializers.IntegerField(help_text="Of the class; no more than before: not so.")
    utility = serializers.FloatField(help_text="Of the whole allocation.")


class TrialsSerializer(serializers.Serializer[Trials]):
    """The frozen model solved again, as it is and with each lever that could admit the class."""

    method = serializers.CharField()
    admitted_before = serializers.IntegerField()
    utility_before = serializers.FloatField()
    trials = TrialSerializer(many=True)
    runtime_s = serializers.FloatField()


class _Query(Form[Any]):
    consumer_class = serializers.CharField(max_length=200)


class TrialsRequestSerializer(_Query):
    """Which class is asked about."""


class ExplainsClasses:
    """The sub-resources `explanation` and `trials` of an allocation."""

    @extend_schema(
        parameters=[OpenApiParameter("consumer_class", str, required=True)],
        responses=ExplainedSerializer,
    )
    @action(detail=True, methods=["get"])
    def explanation(self, request: Request, id: str) -> Response:
        """Why this class was admitted or refused: value of one against its price."""
        form = _Query(data=request.query_params)
        form.is_valid(raise_exception=True)
        explained = class_explanation(
            self.get_object(),  # type: ignore[attr-defined]
            form.validated_data["consumer_class"],
        )
        return Response(ExplainedSerializer(explained).data)

    @extend_schema(request=TrialsRequestSerializer, responses=TrialsSerializer)
    @action(detail=True, methods=["post"])
    def trials(self, request: Request, id: str) -> Response:
        """What would admit more of this class, found by solving again; stores nothing."""
        form = TrialsRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        found = admission_trials(
            self.get_object(),  # type: ignore[attr-defined]
            form.validated_data["consumer_class"],
        )
        return Response(TrialsSerializer(found).data)
