"""Serve planners, methods, one-off plans and the traffic of a system over the REST API."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.domain.roles import Permission
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.common.api.fields import Amount
from apps.common.api.forms import Form
from apps.evaluations.api.requests import TransformationRequestSerializer
from apps.evaluations.models import TrafficSource
from apps.evaluations.selectors.overview import traffic_overview
from apps.evaluations.selectors.traffic import DEFAULT_WINDOW_S, LONGEST_WINDOW_S
from apps.evaluations.services.transform import transformation_plan
from apps.systems.models import System
from weir.planners import DEFAULT, planners
from weir.plugins import describe
from weir.topologies import designers


class TopologyToolSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a planner or method with its parameters."""

    name = serializers.CharField()
    is_default = serializers.BooleanField(
        help_text="Whether a request that names none gets this one."
    )
    title = serializers.CharField()
    summary = serializers.CharField()
    seeded = serializers.BooleanField(help_text="Whether another seed may give another answer.")
    parameters = ParameterDescriptionSerializer(many=True)


def _tool(name: str, module: Any, *, is_default: bool, seeded: bool) -> dict[str, Any]:
    return {
        "name": name,
        "is_default": is_default,
        "title": module.TITLE,
        "summary": module.SUMMARY,
        "seeded": seeded,
        "parameters": describe(module.Params),
    }


class PlannersView(APIView):
    """List the planners of overlay transformations that this installation knows."""

    @extend_schema(
        operation_id="topology_planners_list",
        responses=inline_serializer(
            "TopologyPlanners", {"results": TopologyToolSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every planner with the description of its parameters."""
        results = [
            _tool(name, module, is_default=name == DEFAULT, seeded=True)
            for name, module in sorted(planners().items())
        ]
        return Response({"results": results})


class MethodsView(APIView):
    """List the methods of goal topologies that this installation knows."""

    @extend_schema(
        operation_id="topology_methods_list",
        responses=inline_serializer(
            "TopologyMethods", {"results": TopologyToolSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every method with the description of its parameters."""
        results = [
            _tool(name, module, is_default=True, seeded=module.SEEDED)
            for name, module in sorted(designers().items())
        ]
        return Response({"results": results})


class TransformationView(APIView):
    """Plan for a problem that comes with the request; nothing is stored."""

    needs = {"post": Permission.START_RUN}
    refuses = {"post": (422, 429)}

    @extend_schema(
        operation_id="overlay_transformations_create",
        request=TransformationRequestSerializer,
        responses={200: OpenApiResponse({"type": "object"}, "A result as in docs/formats.md.")},
    )
    def post(self, request: Request) -> Response:
        """Return the best plan found within the time limit; evaluations take longer."""
        form = TransformationRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(transformation_plan(**form.validated_data))


class TrafficPairSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what one broker's publishers send that another broker's consumers want."""

    source = serializers.CharField()  # type: ignore[assignment]
    target = serializers.CharField()
    rate_per_s = serializers.FloatField()


class TrafficLinkSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the traffic on a link of the overlay in force."""

    a = serializers.CharField()
    b = serializers.CharField()
    traffic_per_s = serializers.FloatField(help_text="By the routing of the topics' traffic.")
    measured_per_s = serializers.FloatField(
        allow_null=True, help_text="What agents sent over it; null where it is not measured."
    )
    latency_s = serializers.FloatField(allow_null=True)
    capacity_per_s = serializers.FloatField(allow_null=True)


class TrafficBrokerSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a broker handles."""

    broker = serializers.CharField()
    published_per_s = serializers.FloatField()
    received_per_s = serializers.FloatField(help_text="Over links, for its own clients.")
    relayed_per_s = serializers.FloatField(help_text="Over links, for other brokers only.")
    delivered_per_s = serializers.FloatField(help_text="To its own clients.")
    handled_per_s = serializers.FloatField()
    capacity_per_s = serializers.FloatField(allow_null=True)
    links = serializers.IntegerField()


class SystemTrafficSerializer(serializers.Serializer[Any]):
    """Describe the traffic between the brokers of a system, on its overlay in force."""

    source = serializers.ChoiceField(choices=TrafficSource.choices)  # type: ignore[assignment]
    detail = serializers.CharField()
    window_s = serializers.FloatField()
    model_version = serializers.IntegerField()
    overlay = serializers.UUIDField(allow_null=True)
    overlay_name = serializers.CharField()
    published_per_s = serializers.FloatField()
    traffic_per_s = serializers.FloatField(help_text="Messages over links, msg/s.")
    in_flight = serializers.FloatField(help_text="Messages on links at any moment.")
    overloaded = serializers.ListField(child=serializers.CharField())
    pairs = TrafficPairSerializer(many=True)
    links = TrafficLinkSerializer(many=True)
    brokers = TrafficBrokerSerializer(many=True)


class _Window(Form[dict[str, Any]]):
    window_s = Amount(default=DEFAULT_WINDOW_S, min_value=1.0, max_value=LONGEST_WINDOW_S)


class SystemTrafficView(APIView):
    """Show the traffic between brokers."""

    @extend_schema(
        operation_id="system_traffic",
        parameters=[
            OpenApiParameter(
                "window_s",
                OpenApiTypes.FLOAT,
                description="Mean over this time, 1 to 1800; 60 when not given.",
            )
        ],
        responses=SystemTrafficSerializer,
    )
    def get(self, request: Request, id: str) -> Response:
        """Return the matrix, measured or from the model, and its effect on the overlay in force."""
        form = _Window(data=request.query_params)
        form.is_valid(raise_exception=True)
        system = get_object_or_404(System, public_id=id)
        results = traffic_overview(system, window_s=form.validated_data["window_s"])
        return Response(SystemTrafficSerializer(results).data)
