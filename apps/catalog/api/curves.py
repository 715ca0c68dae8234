"""Serve the drawing of a utility function over the REST API, for an editor that asks on every key
stroke."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.domain.roles import Permission
from apps.catalog.domain.curves import CurvePoint, DrawnCurve, Knot, RateRange, curve_drawn
from apps.catalog.models import Pattern, Topic
from apps.catalog.selectors.request_response import (
    RangeProblem,
    common_range,
    functions_of,
    range_problems,
)
from apps.common.api.fields import Amount
from apps.common.api.forms import Form
from apps.common.errors import FieldError

LARGEST_RATE = 1e12


class DrawnCurveRequestSerializer(Form[dict[str, Any]]):
    """Read a utility function that need not be stored, and the rates (msg/s) between which to draw
    it."""

    kind = serializers.CharField()
    parameters = serializers.DictField()
    rate_min = Amount(default=0.0, max_value=LARGEST_RATE)
    rate_max = Amount(
        allow_null=True,
        default=None,
        max_value=LARGEST_RATE,
        help_text="Left out: a little above the last kink, or 1,000 msg/s.",
    )
    samples = serializers.IntegerField(default=101, min_value=2, max_value=2000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        high = attrs["rate_max"]
        if high is not None and high <= attrs["rate_min"]:
            raise serializers.ValidationError(
                {"rate_max": f"Must be above rate_min ({attrs['rate_min']:g} msg/s)."}
            )
        return attrs


class CurvePointSerializer(serializers.Serializer[CurvePoint]):
    """Describe one rate of the drawing."""

    rate_per_s = serializers.FloatField()
    utility = serializers.FloatField()
    marginal_utility = serializers.FloatField(
        allow_null=True, help_text="Slope just above the rate; null where it is infinite."
    )
    latency_s = serializers.FloatField(
        allow_null=True, help_text="Mean round trip; null for other kinds and at rate 0."
    )


class CurveKnotSerializer(serializers.Serializer[Knot]):
    """Describe a rate where the slope changes abruptly."""

    rate_per_s = serializers.FloatField()
    utility = serializers.FloatField()
    latency_s = serializers.FloatField(allow_null=True)


class RateRangeSerializer(serializers.Serializer[RateRange]):
    """Describe the rates between which a latency target leaves a choice."""

    rate_min_per_s = serializers.FloatField(help_text="Here the round trip reaches the threshold.")
    rate_max_per_s = serializers.FloatField(help_text="Above this no answer comes sooner.")


class CurveProblemSerializer(serializers.Serializer[FieldError]):
    """Describe what keeps the function from being increasing and concave."""

    field = serializers.CharField(help_text="Such as parameters.points[2].")
    message = serializers.CharField()


class DrawnCurveSerializer(serializers.Serializer[DrawnCurve]):
    """Describe the drawing; it has no points where the parameters allow none."""

    points = CurvePointSerializer(many=True)
    knots = CurveKnotSerializer(many=True)
    concave = serializers.BooleanField()
    problems = CurveProblemSerializer(many=True)
    derived = RateRangeSerializer(allow_null=True)


class RangeProblemSerializer(serializers.Serializer[RangeProblem]):
    """Describe one end of a topic's rates that lies outside the range of its latency targets."""

    field = serializers.CharField()
    message = serializers.CharField()
    suggested_per_s = serializers.FloatField()


class TopicRateRangeSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what the latency targets of a topic's consumer classes allow together."""

    derived = RateRangeSerializer(allow_null=True, help_text="null: no class has such a target.")
    problems = RangeProblemSerializer(many=True)


class TopicRateRangeView(APIView):
    """Derive the rates of a request-response topic from its latency targets."""

    @extend_schema(operation_id="topic_rate_range", responses=TopicRateRangeSerializer)
    def get(self, request: Request, id: str) -> Response:
        """Return the common range of all targets, and what is wrong with the topic's own rates."""
        topic = get_object_or_404(Topic, public_id=id)
        derived = common_range(functions_of(topic))
        problems = range_problems(
            derived if topic.pattern == Pattern.REQUEST_RESPONSE else None,
            rate_min=topic.rate_min_per_s,
            rate_max=topic.rate_max_per_s,
        )
        body = {"derived": derived, "problems": problems}
        return Response(TopicRateRangeSerializer(body).data)


class DrawnCurveView(APIView):
    """Draw a utility function while it is being edited; its errors are part of the answer."""

    needs = {"post": Permission.READ}

    @extend_schema(
        operation_id="utility_curve_drawn",
        request=DrawnCurveRequestSerializer,
        responses=DrawnCurveSerializer,
    )
    def post(self, request: Request) -> Response:
        """Return utility, marginal utility and, for latency targets, the round trip over the
        rate."""
        form = DrawnCurveRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(DrawnCurveSerializer(curve_drawn(**form.validated_data)).data)
