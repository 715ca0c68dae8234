"""Serve the live rates of a system's flows over the REST API."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.forms import Form
from apps.rate_control.selectors import flow_status
from apps.systems.models import System
from apps.telemetry.api.serializers import BacklogSerializer


class FlowStatusSerializer(serializers.Serializer[Any]):
    """Describe the approved, controlled, measured and promised rate of one flow, in msg/s."""

    flow = serializers.CharField()
    broker = serializers.CharField(allow_null=True, help_text="Broker at which the flow enters.")
    in_force_per_s = serializers.FloatField(allow_null=True, help_text="As approved.")
    burst = serializers.FloatField(allow_null=True, help_text="Messages.")
    controlled_per_s = serializers.FloatField(
        allow_null=True, help_text="What the rate controller asks for instead; null: nothing."
    )
    promised_per_s = serializers.FloatField(
        allow_null=True, help_text="The rate of the allocation whose plan was carried out last."
    )
    rate_min_per_s = serializers.FloatField()
    rate_max_per_s = serializers.FloatField()
    band_low_per_s = serializers.FloatField(
        allow_null=True, help_text="Lowest rate that rate control may ask for; null: it is off."
    )
    band_high_per_s = serializers.FloatField(allow_null=True)
    offered_per_s = serializers.FloatField(
        allow_null=True, help_text="Mean of the last seconds; null where nothing is measured."
    )
    passed_per_s = serializers.FloatField(allow_null=True)
    shed_per_s = serializers.FloatField(allow_null=True)
    backlog = serializers.IntegerField(allow_null=True, help_text="Messages waiting at the gate.")
    waiting = BacklogSerializer(
        allow_null=True,
        help_text="How those of a reliable topic grow; null for others, and where nothing is "
        "measured.",
    )


class SystemFlowsSerializer(serializers.Serializer[Any]):
    """Describe all flows of a system."""

    rate_control = serializers.BooleanField(help_text="The policy lets the controller act.")
    plan = serializers.UUIDField(allow_null=True, help_text="The plan carried out last.")
    plan_name = serializers.CharField(allow_null=True)
    flows = FlowStatusSerializer(many=True)


class _Query(Form[Any]):
    system = serializers.UUIDField()


class FlowStatusView(APIView):
    """Show rates now, next to the approved ones."""

    refuses = {"get": (404,)}

    @extend_schema(
        operation_id="flow_status_retrieve",
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
        responses=SystemFlowsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Return every flow of the system, by name."""
        form = _Query(data=request.query_params)
        form.is_valid(raise_exception=True)
        system = get_object_or_404(System, public_id=form.validated_data["system"])
        return Response(SystemFlowsSerializer(flow_status(system)).data)
