"""Serve brokers that are gone for good, and plans that close the overlay around them, over the REST
API."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form
from apps.common.api.preconditions import repeatable
from apps.evaluations.selectors.repairs import Repair, repairs
from apps.evaluations.services import repair_plan
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import plan_made
from apps.systems.api.entities import Reference
from apps.systems.models import System
from apps.topology.models import Broker

REPAIR_COMMANDS = choices("plan")


class RepairRequestSerializer(Form[dict[str, Any]]):
    """Read the broker to remove and the title of the plan."""

    broker = Reference(Broker, help_text="Gone for good; others that are linked with it go, too.")
    title = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")


class RepairSerializer(serializers.Serializer[Any]):
    """Describe a broker of the overlay in force that is silent."""

    broker = serializers.UUIDField()
    broker_name = serializers.CharField()
    silent_since = serializers.DateTimeField(help_text="When its agent was heard last.")
    silent_s = serializers.FloatField()
    remove_after_s = serializers.FloatField(
        help_text="Seconds of silence after which the policy lets a plan remove it."
    )
    removable = serializers.BooleanField(help_text="Whether it has been silent for that long.")
    held = serializers.CharField(
        help_text="Messages that only this broker held when it was last heard."
    )
    allowed_commands = serializers.SerializerMethodField()

    @extend_schema_field(command_list(REPAIR_COMMANDS))
    def get_allowed_commands(self, row: Repair) -> list[str]:
        may = Permission.PROPOSE_PLAN in granted(self.context["request"])
        return ["plan"] if row.removable and may else []


class RepairListSerializer(serializers.Serializer[Any]):
    """List all silent brokers of the overlay in force."""

    results = RepairSerializer(many=True)


class RepairsView(APIView):
    """List silent brokers and plan around them."""

    needs = {"post": Permission.PROPOSE_PLAN}
    refuses = {"get": (404,)}

    @extend_schema(
        operation_id="repairs_list",
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
        responses=RepairListSerializer,
    )
    def get(self, request: Request) -> Response:
        """Return the silent brokers of a system's overlay in force, longest silent first."""
        form = _Of(data=request.query_params)
        form.is_valid(raise_exception=True)
        system = get_object_or_404(System, public_id=form.validated_data["system"])
        serializer = RepairListSerializer(
            {"results": repairs(system)}, context={"request": request}
        )
        return Response(serializer.data)

    @extend_schema(
        operation_id="repairs_create",
        request=RepairRequestSerializer,
        responses={201: PlanDetailSerializer},
    )
    @repeatable()
    def post(self, request: Request) -> Response:
        """Make a draft of the plan that closes the overlay around a broker that is gone."""
        form = RepairRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return plan_made(request, repair_plan(actor=actor_of(request), **form.validated_data))


class _Of(Form[dict[str, Any]]):
    system = serializers.UUIDField()
