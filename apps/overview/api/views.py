"""Serve the overview of every system."""

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.overview.api.serializers import OverviewSerializer
from apps.overview.selectors import systems_overview


class OverviewView(APIView):
    """Show every system at a glance."""

    @extend_schema(
        operation_id="overview_retrieve",
        responses=inline_serializer("SystemsOverview", {"results": OverviewSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Return sizes, latest run, what is in force and proposed, and load of every system."""
        rows = OverviewSerializer(
            instance=systems_overview(),  # type: ignore[arg-type]
            many=True,
            context={"request": request},
        )
        return Response({"results": rows.data})
