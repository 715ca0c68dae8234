"""Serve forecasts of demand: what is expected hour by hour."""

from typing import Any

from django.db.models import Count, Q
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import Ordering
from apps.common.api.preconditions import repeatable
from apps.forecasts.api.serializers import (
    MOST_SERIES,
    ForecastDetailSerializer,
    ForecastRequestSerializer,
    ForecastSerializer,
    ForecastSeriesSerializer,
)
from apps.forecasts.models import Forecast, ForecastSeries
from apps.forecasts.services import forecast_request
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted


class ForecastFilter(ComputedFilter):
    """Filter forecasts by system and run."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")

    class Meta:
        model = Forecast
        fields: list[str] = []


class ForecastViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Forecast]):
    """Manage forecasts of what publishers and consumers will want."""

    queryset = Forecast.objects.select_related("system", "run").annotate(
        series_count=Count("series", filter=Q(series__reason=""))
    )
    serializer_class = ForecastSerializer
    filterset_class = ForecastFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["number", "created_at"]
    ordering = ["-id"]
    needs = {"create": Permission.START_RUN}

    @extend_schema(responses=ForecastDetailSerializer)
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return one forecast with its series."""
        forecast = self.get_object()
        series = ForecastSeries.objects.filter(forecast=forecast).order_by("subject", "name")
        body = ForecastSerializer(forecast).data
        rows = ForecastSeriesSerializer(series[:MOST_SERIES], many=True).data
        return Response({**body, "series": rows})

    @extend_schema(request=ForecastRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Forecast the next two days by what was wanted in the last four weeks."""
        form = ForecastRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return accepted(forecast_request(actor=actor_of(request), **form.validated_data), request)
