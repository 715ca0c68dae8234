"""Place publishers over the REST API, and read the results."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import FilterSet, NameSearch, Ordering
from apps.common.api.preconditions import repeatable
from apps.placements.api.outcome import PlacementOutcomeSerializer
from apps.placements.api.serializers import (
    PartSerializer,
    PlacementAgainSerializer,
    PlacementDetailSerializer,
    PlacementMethodSerializer,
    PlacementMoveSerializer,
    PlacementPlanRequestSerializer,
    PlacementRequestSerializer,
    PlacementSerializer,
    PlacementWhatIfSerializer,
    RoundSerializer,
)
from apps.placements.domain.sentences import LISTED
from apps.placements.models import Move, Placement
from apps.placements.selectors.parts import measured_parts, measured_whole, publishers_unlisted
from apps.placements.selectors.rounds import rounds_of
from apps.placements.services import placement_again, placement_request
from apps.placements.services.propose import placement_plan
from apps.placements.services.what_if import placement_what_if
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import plan_made
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted
from weir.placement import DEFAULT as DEFAULT_METHOD
from weir.placement import placers
from weir.plugins import describe


class PlacementFilter(ComputedFilter):
    """Filter placements by system, topic, run, method, and whether they meet their target."""

    system = filters.UUIDFilter(field_name="system__public_id")
    topic = filters.UUIDFilter(field_name="topic__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")

    class Meta:
        model = Placement
        fields = ["method", "meets"]


class PlacementViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Placement]
):
    """List placements of publishers over brokers that runs have computed."""

    queryset = Placement.objects.select_related(
        "system", "topic", "run__snapshot", "run__asked_by", "run__system", "based_on"
    ).defer("run__snapshot__payload", "outcome", "based_on__outcome")
    serializer_class = PlacementSerializer
    filterset_class = PlacementFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["topic_name", "method", "system__name"]
    ordering_fields = ["created_at", "number", "brokers", "publishers", "moved", "p99_s"]
    ordering = ["-id"]
    needs = {
        "create": Permission.START_RUN,
        "again": Permission.START_RUN,
        "what_if": Permission.START_RUN,
        "plan": Permission.PROPOSE_PLAN,
    }
    refuses = {"create": (409, 422), "again": (409, 422), "what_if": (409, 429)}

    def get_serializer_class(self) -> Any:
        return PlacementDetailSerializer if self.action == "retrieve" else PlacementSerializer

    @extend_schema(request=PlacementRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Place the publishers of a topic: freeze who sends what where, and open a run on it.

        Publishers without a rate and brokers without a publish rate take no part.
        """
        form = PlacementRequestSerializer(data=request.data, context={})
        form.is_valid(raise_exception=True)
        return accepted(placement_request(actor=actor_of(request), **form.validated_data), request)

    @extend_schema(request=PlacementAgainSerializer, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def again(self, request: Request, id: str) -> Response:
        """Place the topic again, as it is now, by what is measured of this placement in force.

        Method, parameters, drained brokers and seed are those of the placement.
        """
        form = PlacementAgainSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        run = placement_again(
            placement=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return accepted(run, request)

    @extend_schema(
        responses=inline_serializer(
            "Rounds",
            {
                "results": RoundSerializer(many=True, help_text="The oldest first."),
                "can_place_again": serializers.BooleanField(
                    help_text="Whether this placement can be placed again by what is measured."
                ),
                "because": serializers.CharField(
                    help_text="Why it cannot, and what to do; empty where it can."
                ),
                "measured_rounds": serializers.IntegerField(
                    help_text="Placements of the line of which something is measured; those that "
                    "came to the same as the one before count once."
                ),
                "search_rounds": serializers.IntegerField(
                    allow_null=True,
                    help_text="Rounds that a search by halves would measure, by the speeds that "
                    "were fitted last; null: none were.",
                ),
            },
        )
    )
    @action(detail=True, methods=["get"])
    def rounds(self, request: Request, id: str) -> Response:
        """Return the line of placements that this one belongs to, each made by what was measured of
        the one before."""
        rounds = rounds_of(self.get_object())
        return Response({**rounds, "results": RoundSerializer(rounds["results"], many=True).data})

    @extend_schema(request=PlacementWhatIfSerializer, responses=PlacementOutcomeSerializer)
    @action(detail=True, methods=["post"], url_path="what-if")
    def what_if(self, request: Request, id: str) -> Response:
        """Compute at once what another contract or other brokers would bring, on the frozen
        publishers; nothing is stored."""
        form = PlacementWhatIfSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        outcome = placement_what_if(placement=self.get_object(), **form.validated_data)
        return Response(PlacementOutcomeSerializer(outcome).data)

    @extend_schema(
        responses=inline_serializer(
            "Parts",
            {
                "results": PartSerializer(many=True),
                "token_rate_per_s": serializers.FloatField(
                    allow_null=True, help_text="Of the whole bucket in the model now; null: none."
                ),
                "bucket": serializers.FloatField(
                    allow_null=True, help_text="Tokens that the whole bucket holds in the model."
                ),
                "wait_messages": serializers.IntegerField(
                    help_text="Messages of enforced parts that left in the last minute."
                ),
                "largest_wait_p99_s": serializers.FloatField(
                    allow_null=True,
                    help_text="The largest 99th percentile of the wait at one broker: that of all "
                    "messages together is no longer. Null: nothing is measured.",
                ),
                "unlisted": serializers.IntegerField(
                    allow_null=True,
                    help_text="Publishers of the topic that no list in force names: they are let "
                    "in nowhere. Null: the topic has no lists.",
                ),
                "unlisted_names": serializers.ListField(
                    child=serializers.CharField(), help_text="The first of them."
                ),
            },
        )
    )
    @action(detail=True, methods=["get"])
    def parts(self, request: Request, id: str) -> Response:
        """Return the parts of the topic's bucket that are in force, with what is measured now."""
        placement = self.get_object()
        rows: Any = measured_parts(placement.system, placement.topic_name)
        whole = measured_whole(rows)
        topic = placement.topic
        unlisted = None if topic is None else publishers_unlisted(topic)
        return Response(
            {
                "results": PartSerializer(rows, many=True).data,
                "wait_messages": whole.wait_messages,
                "largest_wait_p99_s": whole.largest_wait_p99_s,
                "unlisted": None if unlisted is None else len(unlisted),
                "unlisted_names": (unlisted or [])[:LISTED],
                "token_rate_per_s": topic and topic.token_rate_per_s,
                "bucket": topic and topic.token_bucket,
            }
        )

    @extend_schema(request=PlacementPlanRequestSerializer, responses={201: PlanDetailSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def plan(self, request: Request, id: str) -> Response:
        """Make a draft of the plan after which brokers enforce, or count, the placement's parts."""
        form = PlacementPlanRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        plan = placement_plan(
            placement=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return plan_made(request, plan)


class MoveFilter(FilterSet):
    """Filter moves by the brokers that they lead from and to."""

    class Meta:
        model = Move
        fields = ["from_broker", "to_broker"]


class MoveViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Move]):
    """List the publishers that change their broker, or get one."""

    queryset = Move.objects.all()
    serializer_class = PlacementMoveSerializer
    filterset_class = MoveFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    search_fields = ["publisher", "group"]
    ordering_fields = ["publisher", "group", "rate_per_s", "from_broker", "to_broker"]
    ordering = ["id"]

    def get_queryset(self) -> QuerySet[Move]:
        rows = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return rows.none()
        placement = get_object_or_404(Placement, public_id=self.kwargs["placement_id"])
        return rows.filter(placement=placement)


class PlacementMethodsView(APIView):
    """List the methods that this installation knows."""

    @extend_schema(
        operation_id="placement_methods_list",
        responses=inline_serializer(
            "PlacementMethods", {"results": PlacementMethodSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every method of placement with the description of its parameters."""
        methods = [
            {
                "name": name,
                "is_default": name == DEFAULT_METHOD,
                "title": method.TITLE,
                "summary": method.SUMMARY,
                "parameters": describe(method.Params),
            }
            for name, method in sorted(placers().items())
        ]
        return Response({"results": methods})
