"""Optimize over the REST API, and read the results."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.allocations.api.insight import ExplainsClasses
from apps.allocations.api.serializers import (
    AllocationDetailSerializer,
    AllocationPlanSerializer,
    AllocationSerializer,
    ClassPopulationSerializer,
    ComparisonSerializer,
    FlowRateSerializer,
    OptimizerSerializer,
    ProblemAllocationRequestSerializer,
    ResourceLoadSerializer,
    SystemAllocationRequestSerializer,
)
from apps.allocations.api.side_by_side import ComparesMethods
from apps.allocations.models import Allocation, ClassPopulation, FlowRate, ResourceLoad
from apps.allocations.selectors import previous_allocation
from apps.allocations.selectors.against import allocation_against, allocation_in_force, usual_other
from apps.allocations.services import (
    DEFAULT_METHOD,
    allocation_request,
    allocation_request_for_problem,
)
from apps.allocations.services.propose import allocation_plan
from apps.common.api.filters import NameSearch, Ordering
from apps.common.api.forms import parameter
from apps.common.api.preconditions import repeatable
from apps.common.errors import ApplicationError
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import plan_made
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted
from weir.optimizers import methods
from weir.plugins import describe


class AllocationFilter(ComputedFilter):
    """Filter allocations by system, run and frozen model."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")
    snapshot_hash = filters.CharFilter(field_name="run__snapshot__content_hash")

    class Meta:
        model = Allocation
        fields = ["method", "status"]


class AllocationViewSet(
    ComparesMethods,
    ExplainsClasses,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    viewsets.GenericViewSet[Allocation],
):
    """List rates, admitted consumers and prices that runs have computed."""

    queryset = (
        Allocation.objects.select_related(
            *("system", "run__snapshot", "run__asked_by", "run__system"),
            "run__starts_from__allocation",
        )
        # Joined it would be a table too many for Postgres to order quickly.
        .prefetch_related("run__snapshot__demand")
        .defer(
            *("run__snapshot__payload", "trace", "bounds", "moments"),
            *(f"run__starts_from__allocation__{name}" for name in ("trace", "bounds", "moments")),
        )
    )
    serializer_class = AllocationSerializer
    filterset_class = AllocationFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["method", "system__name"]
    ordering_fields = ["created_at", "utility", "number"]
    ordering = ["-id"]
    needs = {
        "create": Permission.START_RUN,
        "solve": Permission.START_RUN,
        "compare": Permission.START_RUN,
        "plan": Permission.PROPOSE_PLAN,
        "trials": Permission.START_RUN,
    }
    refuses = {"explanation": (409,), "trials": (429,)}

    @extend_schema(responses=AllocationDetailSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one allocation with the utility of each iteration."""
        allocation = self.get_object()
        in_force = allocation_in_force(allocation)
        context = {
            **self.get_serializer_context(),
            "previous": previous_allocation(allocation),
            "usual_other": usual_other(allocation, in_force),
            "in_force": in_force,
        }
        return Response(AllocationDetailSerializer(allocation, context=context).data)

    @extend_schema(request=SystemAllocationRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Optimize a system: freeze its model and open a run on it."""
        form = SystemAllocationRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return accepted(allocation_request(actor=actor_of(request), **form.validated_data), request)

    @extend_schema(request=ProblemAllocationRequestSerializer, responses={202: RunSerializer})
    @action(detail=False, methods=["post"])
    @repeatable()
    def solve(self, request: Request) -> Response:
        """Optimize a problem that comes with the request; its result is at the run's `/result`."""
        form = ProblemAllocationRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return accepted(
            allocation_request_for_problem(actor=actor_of(request), **form.validated_data),
            request,
        )

    @extend_schema(request=AllocationPlanSerializer, responses={201: PlanDetailSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def plan(self, request: Request, id: str) -> Response:
        """Make a draft of the plan that would bring this allocation into force."""
        form = AllocationPlanSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        plan = allocation_plan(
            allocation=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return plan_made(request, plan)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "with",
                OpenApiTypes.UUID,
                description="Default: the one in force, or else the one before.",
            )
        ],
        responses=ComparisonSerializer,
    )
    @action(detail=True, methods=["get"])
    def comparison(self, request: Request, id: str) -> Response:
        """Compare this allocation with the one in force, else with the previous one, or with the
        one that `with` names."""
        allocation = self.get_object()
        in_force = allocation_in_force(allocation)
        wanted = parameter(request, "with", serializers.UUIDField())
        if wanted:
            other = get_object_or_404(Allocation, public_id=wanted)
        else:
            usual = usual_other(allocation, in_force)
            if usual is None:
                raise ApplicationError(
                    "nothing_to_compare", f"{allocation} is the first of its system.", status=404
                )
            other = usual
        return Response(ComparisonSerializer(allocation_against(allocation, other, in_force)).data)


class AllocationRows(mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """List the rows of one allocation; base of the row lists."""

    filter_backends = [NameSearch, Ordering]
    ordering = ["id"]

    def get_queryset(self) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return rows.none()
        allocation = get_object_or_404(Allocation, public_id=self.kwargs["allocation_id"])
        return rows.filter(allocation=allocation)


class RateViewSet(AllocationRows):
    """List the rate of each flow against its bounds."""

    queryset = FlowRate.objects.all()
    serializer_class = FlowRateSerializer
    search_fields = ["flow"]
    ordering_fields = ["flow", "rate_per_s", "utility", "admitted"]


class PopulationViewSet(AllocationRows):
    """List how many consumers of each class are admitted."""

    queryset = ClassPopulation.objects.all()
    serializer_class = ClassPopulationSerializer
    search_fields = ["consumer_class", "flow", "node"]
    ordering_fields = ["consumer_class", "flow", "node", "admitted", "wanted", "utility", "scale"]


class LoadViewSet(AllocationRows):
    """List the load of each node and link against its capacity, with prices."""

    queryset = ResourceLoad.objects.all()
    serializer_class = ResourceLoadSerializer
    search_fields = ["name", "resource"]
    ordering_fields = ["name", "load", "capacity", "price"]


class OptimizersView(APIView):
    """List the methods that this installation knows."""

    @extend_schema(
        operation_id="optimizers_list",
        responses=inline_serializer("Optimizers", {"results": OptimizerSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Return every optimizer with the description of its parameters."""
        optimizers = [
            {
                "name": name,
                "is_default": name == DEFAULT_METHOD,
                "title": method.TITLE,
                "summary": method.SUMMARY,
                "parameters": describe(method.Params),
            }
            for name, method in sorted(methods().items())
        ]
        return Response({"results": optimizers})
