"""Compare over the REST API what is in force with what the model says."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.forms import Form
from apps.plans.selectors.model_state import KIND_OF, model_states
from apps.systems.models import System

UNITS = [(unit, unit) for unit in ("msg/s", "consumers")]
KINDS = [(name, name) for name in KIND_OF]


class ModelStateSerializer(serializers.Serializer[Any]):
    """Describe one flow, or one class at one broker."""

    kind = serializers.ChoiceField(choices=KINDS)
    name = serializers.CharField()
    broker = serializers.CharField(allow_null=True, help_text="Of a class; null for flows.")
    in_force = serializers.CharField(help_text="What agents do, in words.")
    model = serializers.CharField(help_text="What the model asks for, in words.")
    differs = serializers.BooleanField(help_text="It changes with the next plan.")
    limit = serializers.FloatField(
        allow_null=True, help_text="What is let through at most, in `unit`; null: no limit."
    )
    unit = serializers.ChoiceField(choices=UNITS)


class ModelStatesSerializer(serializers.Serializer[Any]):
    """List the first 500 flows and classes, and count all."""

    total = serializers.IntegerField()
    results = ModelStateSerializer(many=True)


class _Query(Form[Any]):
    system = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=KINDS, required=False, default="")
    name = serializers.CharField(required=False, default="", max_length=200)
    differs = serializers.BooleanField(required=False, allow_null=True, default=None)


class ModelStateView(APIView):
    """Compare flows and classes as agents carry and serve them with what the model asks for."""

    refuses = {"get": (404,)}

    @extend_schema(
        operation_id="model_state_retrieve",
        parameters=[
            OpenApiParameter("system", OpenApiTypes.UUID, required=True),
            OpenApiParameter("kind", OpenApiTypes.STR, enum=list(KIND_OF)),
            OpenApiParameter("name", OpenApiTypes.STR),
            OpenApiParameter("differs", OpenApiTypes.BOOL),
        ],
        responses=ModelStatesSerializer,
    )
    def get(self, request: Request) -> Response:
        """List them by name; of one kind, of one name, or only those that differ."""
        form = _Query(data=request.query_params)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        system = get_object_or_404(System, public_id=values.pop("system"))
        total, rows = model_states(system, **values)
        return Response(ModelStatesSerializer({"total": total, "results": rows}).data)
