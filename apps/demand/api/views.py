"""Serve demand: what is wanted now, the estimates that were used, and how they are."""

from typing import Any

from django.db.models import Count
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.filters import ChangedFilter, Ordering
from apps.demand.api.serializers import (
    MOST_ROWS,
    DemandEstimateDetailSerializer,
    DemandEstimateSerializer,
    DemandFigureSerializer,
    DemandQuery,
    DemandSerializer,
    DemandSettingsSerializer,
)
from apps.demand.models import DemandEstimate, DemandFigure, DemandSettings
from apps.demand.selectors.present import present_demand
from apps.demand.selectors.used import settings_of
from apps.demand.services import settings_update
from apps.systems.api.settings import SystemSettingsViewSet


class DemandView(APIView):
    """Show what publishers and consumers of a system want now."""

    @extend_schema(
        operation_id="demand_retrieve", parameters=[DemandQuery], responses=DemandSerializer
    )
    def get(self, request: Request) -> Response:
        """Compare the model's figures with measured ones, topic by topic and class by class.

        A topic wants what its publishers offer before its gates, a class the consumers that are
        admitted and those that wait.
        """
        form = DemandQuery(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        query = form.validated_data
        now = present_demand(query["system"], timezone.now())
        search, topic = query["search"].casefold(), query.get("topic")
        rows = [
            row for row in now.rows if search in row.name.casefold() and topic in (None, row.topic)
        ]
        body = {
            "settings": now.settings,
            "estimate": now.estimate,
            "since": now.since,
            "until": now.until,
            "measured": sum(row.measured is not None for row in now.rows),
            "count": len(rows),
            "rows": sorted(rows, key=lambda row: -row.change)[:MOST_ROWS],
        }
        return Response(DemandSerializer(body).data)


class DemandEstimateFilter(ChangedFilter):
    """Filter estimates by system and time."""

    system = filters.UUIDFilter(field_name="system__public_id")

    class Meta:
        model = DemandEstimate
        fields = ["basis"]


class DemandEstimateViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[DemandEstimate]
):
    """List the estimates of demand that snapshots were made with."""

    queryset = DemandEstimate.objects.select_related("system").annotate(
        figure_count=Count("figures")
    )
    serializer_class = DemandEstimateSerializer
    filterset_class = DemandEstimateFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["number", "created_at"]
    ordering = ["-id"]

    @extend_schema(responses=DemandEstimateDetailSerializer)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return one estimate with its figures."""
        estimate = self.get_object()
        figures = DemandFigure.objects.filter(estimate=estimate).order_by("subject", "name")
        body = DemandEstimateSerializer(estimate).data
        rows = DemandFigureSerializer(figures[:MOST_ROWS], many=True).data
        return Response({**body, "figures": rows})


class DemandSettingsViewSet(SystemSettingsViewSet[DemandSettings]):
    """Manage one row of settings per system: the defaults until somebody changes them."""

    queryset = DemandSettings.objects.select_related("system")
    serializer_class = DemandSettingsSerializer
    document_member = "demand"
    settings_of = staticmethod(settings_of)
    settings_update = staticmethod(settings_update)
