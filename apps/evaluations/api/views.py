"""Overlay evaluations, their candidates, and plans made of these."""

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.common.api.filters import FilterSet, NameSearch, Ordering
from apps.common.api.preconditions import once
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
    evaluation_cancel,
    evaluation_request,
    evaluation_rerun,
    plan_again_from_here,
)
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import caller_of
from apps.plans.models import Plan
from apps.plans.selectors.readings import plan_reading, plan_rows
from apps.runs.api.views import RUN_STATES
from apps.systems.api.entities import IDEMPOTENCY_KEY


class EvaluationFilter(FilterSet):
    """By system, run and state."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")
    state = filters.MultipleChoiceFilter(field_name="run__state", choices=RUN_STATES)

    class Meta:
        model = Evaluation
        fields = ["objective"]


class EvaluationViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Evaluation]):
    """Is there a better overlay than the one in force, and is it worth the way there?"""

    queryset = evaluation_rows()
    serializer_class = EvaluationSerializer
    filterset_class = EvaluationFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["note", "overlay_name", "author__username"]
    ordering_fields = ["created_at", "number"]
    ordering = ["-id"]
    needs = dict.fromkeys(["create", "cancel", "rerun"], Permission.START_RUN)

    def _answer(self, evaluation: Evaluation, http_status: int = status.HTTP_200_OK) -> Response:
        fresh = evaluation_rows().get(pk=evaluation.pk)
        body = EvaluationSerializer(fresh, context=self.get_serializer_context()).data
        headers = {}
        if http_status == status.HTTP_202_ACCEPTED:
            headers["Location"] = f"/api/v1/overlay-evaluations/{fresh.public_id}"
        return Response(body, status=http_status, headers=headers)

    @extend_schema(responses=EvaluationSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """One evaluation with what is recommended."""
        return self._answer(self.get_object())

    @extend_schema(
        request=EvaluationRequestSerializer,
        responses={202: EvaluationSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    def create(self, request: Request) -> Response:
        """Freeze traffic and overlay of a system and compare candidates; doing nothing is one."""

        def start() -> Response:
            assert isinstance(request.user, User)
            form = EvaluationRequestSerializer(data=request.data)
            form.is_valid(raise_exception=True)
            evaluation = evaluation_request(actor=request.user, **form.validated_data)
            return self._answer(evaluation, status.HTTP_202_ACCEPTED)

        return once(request, start)

    @extend_schema(request=None, responses={202: EvaluationSerializer})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, id: str) -> Response:
        """Stop the evaluation and its Spark job."""
        assert isinstance(request.user, User)
        evaluation = evaluation_cancel(evaluation=self.get_object(), actor=request.user)
        return self._answer(evaluation, status.HTTP_202_ACCEPTED)

    @extend_schema(
        request=None, responses={202: EvaluationSerializer}, parameters=[IDEMPOTENCY_KEY]
    )
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, id: str) -> Response:
        """Compare again on the same snapshot; the candidates of the last run go."""

        def start() -> Response:
            assert isinstance(request.user, User)
            evaluation = evaluation_rerun(evaluation=self.get_object(), actor=request.user)
            return self._answer(evaluation, status.HTTP_202_ACCEPTED)

        return once(request, start)


class CandidateFilter(FilterSet):
    """By evaluation, system and kind."""

    evaluation = filters.UUIDFilter(field_name="evaluation__public_id")
    system = filters.UUIDFilter(field_name="evaluation__system__public_id")
    kind = filters.MultipleChoiceFilter(choices=CandidateKind.choices)

    class Meta:
        model = Candidate
        fields = ["chosen", "status"]


class CandidateViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Candidate]):
    """Trees that evaluations compared, best first within each."""

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
        """One candidate: its tree, every step to it and every state between."""
        context = self.get_serializer_context()
        return Response(CandidateDetailSerializer(self.get_object(), context=context).data)

    @extend_schema(
        request=CandidatePlanRequestSerializer,
        responses={201: PlanDetailSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    @action(detail=True, methods=["post"])
    def plan(self, request: Request, id: str) -> Response:
        """Make a draft of the plan that leads from the overlay in force to this candidate."""

        def make() -> Response:
            assert isinstance(request.user, User)
            form = CandidatePlanRequestSerializer(data=request.data)
            form.is_valid(raise_exception=True)
            candidate = self.get_object()
            plan = candidate_plan(candidate=candidate, actor=request.user, **form.validated_data)
            return made(request, plan)

        return once(request, make)

    @extend_schema(
        request=CandidatePlanRequestSerializer,
        responses={201: PlanDetailSerializer},
        parameters=[IDEMPOTENCY_KEY],
    )
    @action(detail=True, methods=["post"], url_path="plan-again")
    def plan_again(self, request: Request, id: str) -> Response:
        """Plan on to the same tree from where a broken-off execution left the overlay."""

        def make() -> Response:
            assert isinstance(request.user, User)
            form = CandidatePlanRequestSerializer(data=request.data)
            form.is_valid(raise_exception=True)
            candidate = self.get_object()
            plan = plan_again_from_here(
                candidate=candidate, actor=request.user, **form.validated_data
            )
            return made(request, plan)

        return once(request, make)


def made(request: Request, plan: Plan) -> Response:
    """201 with the plan as its author reads it."""
    reading = plan_reading(plan_rows().get(pk=plan.pk), caller_of(request))
    return Response(
        PlanDetailSerializer(reading).data,
        status=status.HTTP_201_CREATED,
        headers={"Location": f"/api/v1/plans/{plan.public_id}"},
    )
