"""Serve overlay evaluations, their candidates, and plans made of these over the REST API."""

from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import CreatedFilter, NameSearch, Ordering
from apps.common.api.preconditions import repeatable
from apps.evaluations.api.requests import (
    CandidatePlanRequestSerializer,
    EvaluationRequestSerializer,
)
from apps.evaluations.api.serializers import (
    CandidateDetailSerializer,
    CandidateSerializer,
    EvaluationSerializer,
)
from apps.evaluations.models import Candidate, CandidateKind, Evaluation
from apps.evaluations.selectors.readings import (
    candidate_rows,
    candidates_in_full,
    evaluation_rows,
)
from apps.evaluations.services import (
    candidate_plan,
    evaluation_request,
    plan_again_from_here,
)
from apps.evaluations.services.computation import EVALUATION
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import plan_made
from apps.runs.api.computed import ComputedFilter, ComputedViewSet, computed_schema
from apps.runs.api.views import RUN_STATES


class EvaluationFilter(ComputedFilter):
    """Filter evaluations by system, run and state."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")
    state = filters.MultipleChoiceFilter(field_name="run__state", choices=RUN_STATES)

    class Meta:
        model = Evaluation
        fields = ["objective"]


@computed_schema(EvaluationSerializer)
class EvaluationViewSet(ComputedViewSet):
    """Evaluate whether an overlay is better than the one in force, and worth the transformation."""

    queryset = evaluation_rows()
    serializer_class = EvaluationSerializer
    words = {
        "cancel": "Stop the evaluation and its Spark job.",
        "rerun": "Compare again on the same snapshot; this deletes the candidates of the last run.",
    }
    detail_serializer = EvaluationSerializer
    address = EVALUATION.address
    filterset_class = EvaluationFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    search_fields = ["note", "overlay_name", "author__username"]
    ordering_fields = ["created_at", "number"]

    def rows(self) -> QuerySet[Evaluation]:
        return evaluation_rows()

    @extend_schema(responses=EvaluationSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one evaluation with its recommendation."""
        return self.answer(self.get_object())

    @extend_schema(request=EvaluationRequestSerializer, responses={202: EvaluationSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Freeze traffic and overlay of a system and compare candidates; doing nothing is one of
        them."""
        form = EvaluationRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        evaluation = evaluation_request(actor=actor_of(request), **form.validated_data)
        return self.answer(evaluation, status.HTTP_202_ACCEPTED)


class CandidateFilter(CreatedFilter):
    """Filter candidates by evaluation, system and kind."""

    evaluation = filters.UUIDFilter(field_name="evaluation__public_id")
    system = filters.UUIDFilter(field_name="evaluation__system__public_id")
    kind = filters.MultipleChoiceFilter(choices=CandidateKind.choices)

    class Meta:
        model = Candidate
        fields = ["chosen", "status"]


class CandidateViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Candidate]):
    """List trees that evaluations compared, best first within each."""

    queryset = candidate_rows()
    serializer_class = CandidateSerializer
    filterset_class = CandidateFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["name", "title"]
    ordering_fields = ["rank", "index", "net_benefit", "actions", "steps_count", "traffic_per_s"]
    ordering = ["-evaluation", "rank"]
    needs = dict.fromkeys(["plan", "plan_again"], Permission.PROPOSE_PLAN)

    def get_queryset(self) -> Any:
        return candidate_rows() if self.action == "list" else candidates_in_full()

    @extend_schema(responses=CandidateDetailSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one candidate: its tree, every step to it and every state between."""
        context = self.get_serializer_context()
        return Response(CandidateDetailSerializer(self.get_object(), context=context).data)

    @extend_schema(request=CandidatePlanRequestSerializer, responses={201: PlanDetailSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def plan(self, request: Request, id: str) -> Response:
        """Make a draft of the plan that leads from the overlay in force to this candidate."""
        form = CandidatePlanRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        candidate = self.get_object()
        plan = candidate_plan(candidate=candidate, actor=actor_of(request), **form.validated_data)
        return plan_made(request, plan)

    @extend_schema(request=CandidatePlanRequestSerializer, responses={201: PlanDetailSerializer})
    @action(detail=True, methods=["post"], url_path="plan-again")
    @repeatable()
    def plan_again(self, request: Request, id: str) -> Response:
        """Plan again for the same tree from where an interrupted execution left the overlay."""
        form = CandidatePlanRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        candidate = self.get_object()
        plan = plan_again_from_here(
            candidate=candidate, actor=actor_of(request), **form.validated_data
        )
        return plan_made(request, plan)
