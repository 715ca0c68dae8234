"""Explain over the REST API why a class was admitted or refused."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.allocations.selectors.explanations import Explained, class_explanation
from apps.allocations.services.trials import Trials, admission_trials
from apps.common.api.fields import choices
from apps.common.api.forms import Form
from weir.allocation.explanation import Explanation, Need, Verdict
from weir.scenarios.admission import Lever, Trial

VERDICTS = choices(*Verdict)


class NeedSerializer(serializers.Serializer[Need]):
    """Describe what one consumer takes of one resource of its node."""

    resource = serializers.CharField()
    cost = serializers.FloatField(help_text="Units of work per message.")
    units_per_s = serializers.FloatField()
    price = serializers.FloatField(help_text="Utility per unit.")
    worth = serializers.FloatField(help_text="Its part of the price of one.")
    room = serializers.FloatField(help_text="Units per second that the node has left.")
    price_at_margin = serializers.FloatField(
        allow_null=True,
        help_text="Price at which one consumer would be worth just what it costs; null: at no "
        "price.",
    )


class ExplanationSerializer(serializers.Serializer[Explanation]):
    """Compare the value of one consumer with its price; the levers hold everything else
    constant."""

    consumer_class = serializers.CharField()
    flow = serializers.CharField()
    node = serializers.CharField()
    rate_per_s = serializers.FloatField()
    admitted = serializers.IntegerField()
    wanted = serializers.IntegerField()
    value = serializers.FloatField(help_text="Utility of one consumer at the rate.")
    price = serializers.FloatField(help_text="The worth of the resources that one consumer takes.")
    price_per_message = serializers.FloatField()
    needs = NeedSerializer(many=True)
    verdict = serializers.ChoiceField(choices=VERDICTS)
    binding = serializers.CharField(
        allow_null=True, help_text="The resource that makes up most of the price."
    )
    fits = serializers.BooleanField(
        help_text="One more consumer would fit into the remaining capacity."
    )
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
    """Explain one class, and say how far the whole allocation may be from the best."""

    explanation = ExplanationSerializer()
    gap = serializers.FloatField(
        allow_null=True,
        help_text="Largest possible loss of utility in all; null: no bound is proven.",
    )
    has_prices = serializers.BooleanField()


class TrialSerializer(serializers.Serializer[Trial]):
    """Describe a lever at its last value, and the result of solving again with it."""

    lever = serializers.ChoiceField(choices=[lever.value for lever in Lever])
    resource = serializers.CharField(help_text="Whose capacity; empty for the other levers.")
    before = serializers.FloatField(
        help_text="`worth`: 1; `rate`: msg/s; `capacity`: units per second."
    )
    after = serializers.FloatField()
    admitted = serializers.IntegerField(
        help_text="Admitted consumers of the class; not more than before means that the lever "
        "did not help."
    )
    utility = serializers.FloatField(
        help_text="Utility of the whole allocation, by the present utility functions."
    )


class TrialsSerializer(serializers.Serializer[Trials]):
    """Solve the frozen model again, as it is and with each lever that could admit the class."""

    method = serializers.CharField()
    admitted_before = serializers.IntegerField()
    utility_before = serializers.FloatField()
    trials = TrialSerializer(many=True)
    runtime_s = serializers.FloatField()


class _Query(Form[Any]):
    consumer_class = serializers.CharField(max_length=200)


class TrialsRequestSerializer(_Query):
    """Read the class in question."""


class ExplainsClasses:
    """Provide the sub-resources `explanation` and `trials` of an allocation."""

    @extend_schema(
        parameters=[OpenApiParameter("consumer_class", str, required=True)],
        responses=ExplainedSerializer,
    )
    @action(detail=True, methods=["get"])
    def explanation(self, request: Request, id: str) -> Response:
        """Explain why this class was admitted or refused: the value of one consumer against its
        price."""
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
        """Find what would admit more of this class by solving again; this stores nothing."""
        form = TrialsRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        result = admission_trials(
            self.get_object(),  # type: ignore[attr-defined]
            form.validated_data["consumer_class"],
        )
        return Response(TrialsSerializer(result).data)
