"""Live rates of a system's flows over REST."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.allocations.selectors.flow_status import flow_status
from apps.common.api.forms import Form
from apps.systems.models import System


class FlowStatusSerializer(serializers.Serializer[Any]):
    """One flow: approved, controlled, measured and promised rate, msg/s."""

    flow = serializers.CharField()
    broker = serializers.CharField(allow_null=True, help_text="Where it enters.")
    in_force_per_s = serializers.FloatField(allow_null=True, help_text="As approved.")
    burst = serializers.FloatField(allow_null=True, help_text="Messages.")
    controlled_per_s = serializers.FloatField(
        allow_null=True, help_text="What the rate controller asks for instead; null: nothing."
    )
    promised_per_s = serializers.FloatField(
        allow_null=True, help_text="By the allocation whose plan was carried out last."
    )
    rate_min_per_s = serializers.FloatField()
    rate_max_per_s = serializers.FloatField()
    band_low_per_s = serializers.FloatField(
        allow_null=True, help_text="Lowest rate that rate control may ask for; null: it is off."
    )
    band_high_per_s = serializers.FloatField(allow_null=True)
    offered_per_s = serializers.FloatField(
        allow_null=True, help_text="Mean of the last seconds; null: nobody measures."
    )
    passed_per_s = serializers.FloatField(allow_null=True)
    shed_per_s = serializers.FloatField(allow_null=True)
    backlog = serializers.IntegerField(allow_null=True, help_text="Messages waiting at the gate.")


class SystemFlowsSerializer(serializers.Serializer[Any]):
    """All flows of a system."""

    rate_control = serializers.BooleanField(help_text="The policy lets the controller act.")
    plan = serializers.UUIDField(allow_null=True, help_text="The plan carried out last.")
    plan_name = serializers.CharField(allow_null=True)
    flows = FlowStatusSerializer(many=True)


class _Query(Form[Any]):
    system = serializers.UUIDField()


class FlowStatusView(APIView):
    """Rates now, next to what was approved."""

    @extend_schema(
        operation_id="flow_status_retrieve",
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
        responses=SystemFlowsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Every flow of the system, by name."""
        form = _Query(data=request.query_params)
        form.is_valid(raise_exception=True)
        system = get_object_or_404(System, public_id=form.validated_data["system"])
        return Response(SystemFlowsSerializer(flow_status(system)).data)
