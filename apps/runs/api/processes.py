"""Serve the state of the processes that compute runs over the REST API."""

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.runs.services.processes import Process, processes


class ProcessSerializer(serializers.Serializer[Process]):
    """Describe something that runs wait for."""

    name = serializers.CharField()
    answers = serializers.BooleanField(help_text="False while it starts, and when it is down.")
    meanwhile = serializers.CharField(help_text="What happens while it does not answer.")


class ProcessesView(APIView):
    """Show the processes that runs wait for."""

    @extend_schema(
        operation_id="processes_retrieve",
        responses=inline_serializer("Processes", {"results": ProcessSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Tell whether Spark and the workers answer, as of a few seconds ago at most."""
        rows = ProcessSerializer(instance=processes(), many=True)  # type: ignore[arg-type]
        return Response({"results": rows.data})
