"""Serve over the REST API what a model still needs."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.plans.selectors.checklist import Place, Stage, checklist
from apps.systems.models import System


class ChecklistItemSerializer(serializers.Serializer[Any]):
    """Describe one thing that a model needs."""

    stage = serializers.ChoiceField(choices=[stage.value for stage in Stage])
    title = serializers.CharField()
    done = serializers.BooleanField()
    detail = serializers.CharField(help_text="What is missing and what to do; or what is there.")
    place = serializers.ChoiceField(
        choices=[place.value for place in Place], help_text="Where one mends it."
    )


class ChecklistView(APIView):
    """List what a model needs to be computed, to be planned and to be carried out."""

    @extend_schema(
        operation_id="system_checklist",
        responses=inline_serializer("Checklist", {"results": ChecklistItemSerializer(many=True)}),
    )
    def get(self, request: Request, id: str) -> Response:
        """Return everything that the system's model needs, and whether it is there."""
        system = get_object_or_404(System, public_id=id)
        rows = ChecklistItemSerializer(checklist(system), many=True).data
        return Response({"results": rows})
