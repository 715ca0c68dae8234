"""Fit resource models over the REST API, decide on them, and see what corrects them meanwhile."""

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.calibration.api.serializers import (
    CalibrationSettingsSerializer,
    CalibrationStateSerializer,
    FitApplySerializer,
    FitDecisionSerializer,
    FitDetailSerializer,
    FitRequestSerializer,
    FitSerializer,
)
from apps.calibration.models import CalibrationSettings, Fit
from apps.calibration.selectors import bounds_of, corrections_of, fit_rows, settings_of
from apps.calibration.services import (
    fit_apply,
    fit_discard,
    fit_request,
    fit_undo,
    settings_update,
)
from apps.common.api.filters import Ordering
from apps.common.api.preconditions import etag, expected_version, repeatable
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted
from apps.systems.api.entities import IF_MATCH, SystemReference
from apps.systems.api.settings import SystemSettingsViewSet

SYSTEM = OpenApiParameter("system", OpenApiTypes.UUID, required=True)


class FitFilter(ComputedFilter):
    """Filter fits by system, run and state."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")

    class Meta:
        model = Fit
        fields = ["state"]


class FitViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Fit]):
    """Manage fits of the resource models: what one message and one consumer cost a broker."""

    queryset = fit_rows()
    serializer_class = FitSerializer
    filterset_class = FitFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["number", "created_at"]
    ordering = ["-id"]
    needs = {
        "create": Permission.START_RUN,
        **dict.fromkeys(["apply", "discard", "undo"], Permission.EDIT_MODEL),
    }

    def get_queryset(self) -> QuerySet[Fit]:
        return fit_rows(whole=self.action != "list")

    def _answer(self, fit: Fit) -> Response:
        fresh = fit_rows(whole=True).get(pk=fit.pk)
        body = FitDetailSerializer(fresh, context=self.get_serializer_context()).data
        return Response(body, headers={"ETag": etag(fresh.version)})

    @extend_schema(responses=FitDetailSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one fit with its coefficients, residuals and advice."""
        return self._answer(self.get_object())

    @extend_schema(request=FitRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Fit the resource models of a system to its telemetry."""
        form = FitRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return accepted(fit_request(actor=actor_of(request), **form.validated_data), request)

    @extend_schema(parameters=[IF_MATCH], request=FitApplySerializer, responses=FitDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def apply(self, request: Request, id: str) -> Response:
        """Write chosen coefficients into topics and consumer classes."""
        return self._command(request, FitApplySerializer, fit_apply)

    @extend_schema(
        parameters=[IF_MATCH], request=FitDecisionSerializer, responses=FitDetailSerializer
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def undo(self, request: Request, id: str) -> Response:
        """Put the costs back that applying replaced."""
        return self._command(request, FitDecisionSerializer, fit_undo)

    @extend_schema(
        parameters=[IF_MATCH], request=FitDecisionSerializer, responses=FitDetailSerializer
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def discard(self, request: Request, id: str) -> Response:
        """Mark the fit as not to be used."""
        return self._command(request, FitDecisionSerializer, fit_discard)

    def _command(self, request: Request, form_class: Any, service: Any) -> Response:
        version = expected_version(request)
        fit = self.get_object()
        form = form_class(data=request.data)
        form.is_valid(raise_exception=True)
        return self._answer(
            service(
                fit=fit, actor=actor_of(request), expected_version=version, **form.validated_data
            )
        )


class CalibrationSettingsViewSet(SystemSettingsViewSet[CalibrationSettings]):
    """Manage one row of settings per system: the defaults until somebody changes them."""

    queryset = CalibrationSettings.objects.select_related("system")
    serializer_class = CalibrationSettingsSerializer
    document_member = "calibration"
    settings_of = staticmethod(settings_of)
    settings_update = staticmethod(settings_update)


class _OfSystem(serializers.Serializer[dict[str, Any]]):
    system = SystemReference()


class CalibrationStateView(APIView):
    """Show error corrections and latency bounds as of now."""

    @extend_schema(parameters=[SYSTEM], responses=CalibrationStateSerializer)
    def get(self, request: Request) -> Response:
        """Compare what is measured with what is predicted, broker by broker and topic by topic."""
        form = _OfSystem(data=request.query_params)
        form.is_valid(raise_exception=True)
        system = form.validated_data["system"]
        body = {"corrections": corrections_of(system), "latency_bounds": bounds_of(system)}
        return Response(CalibrationStateSerializer(body).data)
