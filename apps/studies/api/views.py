"""Serve studies and their points over the REST API."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import NameSearch, Ordering
from apps.common.api.preconditions import expected_version, repeatable
from apps.common.api.renderers import CsvRenderer
from apps.runs.api.computed import ComputedFilter, ComputedViewSet, computed_schema
from apps.runs.api.views import RUN_STATES
from apps.studies.api.serializers import (
    StudyChangeSerializer,
    StudyCheckRequestSerializer,
    StudyCheckSerializer,
    StudyDetailSerializer,
    StudyPointSerializer,
    StudyRequestSerializer,
    StudySerializer,
)
from apps.studies.models import Study, StudyKind, StudyPoint
from apps.studies.selectors import study_points_in_order, study_rows
from apps.studies.services import (
    study_check,
    study_delete,
    study_rename,
    study_start,
)
from apps.studies.services.computation import STUDY
from apps.studies.services.points import row_of
from apps.systems.api.entities import IF_MATCH
from weir.scenarios import study_csv, study_from_dict


class StudyFilter(ComputedFilter):
    """Filter studies by system, kind, state and allocation."""

    system = filters.UUIDFilter(field_name="system__public_id")
    allocation = filters.UUIDFilter(field_name="allocation__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")
    kind = filters.MultipleChoiceFilter(choices=StudyKind.choices)
    state = filters.MultipleChoiceFilter(field_name="run__state", choices=RUN_STATES)

    class Meta:
        model = Study
        fields: list[str] = []


@computed_schema(StudyDetailSerializer)
class StudyViewSet(ComputedViewSet):
    """Manage the what-if studies of systems."""

    queryset = study_rows()
    serializer_class = StudySerializer
    words = {
        "cancel": "Stop the study and its Spark job; the answers so far stay.",
        "rerun": "Solve the same study on the same snapshot again.",
    }
    detail_serializer = StudyDetailSerializer
    address = STUDY.address
    filterset_class = StudyFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    search_fields = ["name", "author__username", "run__method"]
    ordering_fields = ["created_at", "number", "name", "points_total"]
    needs = {
        **ComputedViewSet.needs,
        **dict.fromkeys(["check", "partial_update", "destroy"], Permission.START_RUN),
    }
    refuses = {"check": (422,)}

    def rows(self) -> QuerySet[Study]:
        return study_rows()

    @extend_schema(responses=StudyDetailSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one study with its question."""
        return self.answer(self.get_object())

    @extend_schema(request=StudyRequestSerializer, responses={202: StudyDetailSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Freeze the system's model, or take an allocation's, and start the study on it."""
        form = StudyRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        study = study_start(actor=actor_of(request), **form.validated_data)
        return self.answer(study, status.HTTP_202_ACCEPTED)

    @extend_schema(request=StudyCheckRequestSerializer, responses=StudyCheckSerializer)
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Check whether the study fits the model, how many answers it has, how long it may take."""
        form = StudyCheckRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(StudyCheckSerializer(study_check(**form.validated_data)).data)

    @extend_schema(
        request=StudyChangeSerializer, responses=StudyDetailSerializer, parameters=[IF_MATCH]
    )
    def partial_update(self, request: Request, id: str) -> Response:
        """Give the study another name."""
        version = expected_version(request)
        form = StudyChangeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        study = study_rename(
            study=self.get_object(),
            actor=actor_of(request),
            expected_version=version,
            **form.validated_data,
        )
        return self.answer(study)

    @extend_schema(responses={204: None}, parameters=[IF_MATCH])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete the study and its points; its runs stay in the record."""
        version = expected_version(request)
        study_delete(study=self.get_object(), actor=actor_of(request), expected_version=version)
        return Response(status=status.HTTP_204_NO_CONTENT)


class StudyPointViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[StudyPoint]):
    """List the answers of one study, also while it runs."""

    queryset = StudyPoint.objects.all()
    serializer_class = StudyPointSerializer
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    filterset_fields = ["method", "status"]
    search_fields = ["label", "method", "reason"]
    ordering_fields = ["index", "label", "method", "utility", "gap", "admitted", "runtime_s"]
    ordering = ["index"]

    def get_queryset(self) -> QuerySet[StudyPoint]:
        rows = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return rows.none()
        return rows.filter(study=get_object_or_404(Study, public_id=self.kwargs["study_id"]))

    @extend_schema(
        # The answer is always CSV; the framework's own parameter would say otherwise.
        parameters=[OpenApiParameter("format", exclude=True)],
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One line per point.")},
        filters=False,
    )
    @action(
        detail=False,
        methods=["get"],
        pagination_class=None,
        filter_backends=[],
        renderer_classes=[JSONRenderer, CsvRenderer],
    )
    def csv(self, request: Request, study_id: str) -> HttpResponse:
        """Return all points as CSV (RFC 4180), numbers in full precision."""
        study = get_object_or_404(Study, public_id=study_id)
        rows: list[dict[str, Any]] = [row_of(point) for point in study_points_in_order(study)]
        text = study_csv(study_from_dict(study.spec), rows)
        answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="study-{study.number}.csv"'
        return answer
