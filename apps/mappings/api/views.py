"""Map flows over the REST API, and read what maps cost whom."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

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
from apps.common.api.filters import NameSearch, Ordering
from apps.common.api.forms import parameter, refuse_unknown
from apps.common.api.pagination import PlacePages
from apps.common.api.preconditions import repeatable
from apps.mappings.api.reported import FilteringSerializer, HandOversSerializer
from apps.mappings.api.serializers import (
    FlowMoveSerializer,
    HeatSerializer,
    MapInForceSerializer,
    MappableSerializer,
    MappingDetailSerializer,
    MappingMethodSerializer,
    MappingPlanRequestSerializer,
    MappingRequestSerializer,
    MappingSerializer,
    MappingSettingsSerializer,
    ReceiverDetailSerializer,
    ReceiverSerializer,
)
from apps.mappings.models import Mapping, MappingSettings
from apps.mappings.selectors.hand_overs import hand_overs_of
from apps.mappings.selectors.maps import MapOf, NotOfMapping, map_of
from apps.mappings.selectors.measured import filtering_of_day, in_force_now
from apps.mappings.selectors.problem import mappable
from apps.mappings.selectors.settings import settings_of
from apps.mappings.services import mapping_request
from apps.mappings.services.propose import mapping_plan
from apps.mappings.services.settings import settings_update
from apps.plans.api.serializers import PlanDetailSerializer
from apps.plans.api.views import plan_made
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted
from apps.systems.api.entities import SystemReference
from apps.systems.api.settings import SystemSettingsViewSet
from apps.systems.models import System
from weir.clustering import DEFAULT as DEFAULT_METHOD
from weir.clustering import clusterers
from weir.plugins import describe

MAP = OpenApiParameter(
    "map",
    OpenApiTypes.STR,
    description="Which map: `in_force`, or the place of one in `outcome.points`, from 0; left "
    "out: the proposed one.",
)
MOST_ROWS, MOST_COLUMNS = 200, 200
ROWS, COLUMNS = 50, 40
RECEIVER_ORDERS = [
    f"{sign}{name}"
    for name in ("cost", "unwanted_per_s", "dropped_per_s", "wanted_per_s", "user")
    for sign in ("-", "")
]


class MappingFilter(ComputedFilter):
    """Filter maps by system, run and method."""

    system = filters.UUIDFilter(field_name="system__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")

    class Meta:
        model = Mapping
        fields = ["method"]


class MappingViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Mapping]
):
    """List maps of flows to streams and groups that runs have computed."""

    queryset = Mapping.objects.select_related(
        "system", "run__snapshot", "run__asked_by", "run__system"
    ).defer("run__snapshot__payload", "outcome")
    serializer_class = MappingSerializer
    filterset_class = MappingFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["method", "system__name", "note"]
    ordering_fields = ["created_at", "number", "cost", "moved"]
    ordering = ["-id"]
    needs = {"create": Permission.START_RUN, "plan": Permission.PROPOSE_PLAN}
    refuses = {"create": (409, 422), "heat": (429,), "plan": (409, 422, 429)}

    def get_serializer_class(self) -> Any:
        return MappingDetailSerializer if self.action == "retrieve" else MappingSerializer

    @extend_schema(request=MappingRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Map the flows of a system: freeze who wants what, and open a run on it.

        Streams, groups, pins and the map in force are those of the catalogue.
        """
        form = MappingRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return accepted(mapping_request(actor=actor_of(request), **form.validated_data), request)

    @extend_schema(request=MappingPlanRequestSerializer, responses={201: PlanDetailSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def plan(self, request: Request, id: str) -> Response:
        """Make a draft of the plan that moves flows and streams to where a map has them."""
        form = MappingPlanRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        plan = mapping_plan(
            mapping=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return plan_made(request, plan)

    @extend_schema(
        responses=HeatSerializer,
        parameters=[
            MAP,
            OpenApiParameter(
                "rows", OpenApiTypes.INT, description=f"At most; {ROWS} where left out."
            ),
            OpenApiParameter(
                "columns", OpenApiTypes.INT, description=f"At most; {COLUMNS} where left out."
            ),
        ],
    )
    @action(detail=True, methods=["get"])
    def heat(self, request: Request, id: str) -> Response:
        """Return receivers over groups, with what each gets and did not ask for."""
        refuse_unknown(
            request.query_params, {"map", "rows", "columns", "format"}, "query parameter"
        )
        most = (("rows", ROWS, MOST_ROWS), ("columns", COLUMNS, MOST_COLUMNS))
        sizes = {
            name: parameter(request, name, serializers.IntegerField(min_value=1, max_value=largest))
            or usual
            for name, usual, largest in most
        }
        chosen = chosen_map(request, self.get_object())
        return Response(HeatSerializer(chosen.heat(**sizes)).data)


def chosen_map(request: Request, mapping: Mapping) -> MapOf:
    """Return the map that the query names. Raises ValidationError."""
    name = request.query_params.get("map") or ""
    try:
        return map_of(mapping, name)
    except NotOfMapping as error:
        raise serializers.ValidationError({"map": str(error)}) from error


class RowsOfMap(viewsets.GenericViewSet[Any]):
    """Rows of one map, computed from what was frozen and answered."""

    # What is large is read once and kept.
    queryset = Mapping.objects.select_related("run__snapshot", "run__result").defer(
        "outcome", "run__snapshot__payload", "run__result__payload"
    )
    pagination_class = PlacePages
    filter_backends = [NameSearch]
    query_parameters: ClassVar = ["map"]
    refuses = {"list": (429,), "one": (429,)}

    def chosen(self, request: Request, mapping_id: str) -> MapOf:
        return chosen_map(request, get_object_or_404(self.queryset, public_id=mapping_id))

    def page(self, rows: Sequence[Any]) -> Response:
        """Return the page of these rows that the query names."""
        shown: Any = self.paginate_queryset(cast("Any", rows))
        return self.get_paginated_response(self.get_serializer(shown, many=True).data)


class ReceiverViewSet(RowsOfMap):
    """List what each receiver gets by a map, and what it filters."""

    serializer_class = ReceiverSerializer
    search_fields = ["user"]
    query_parameters: ClassVar = ["map", "ordering"]

    @extend_schema(
        parameters=[
            MAP,
            OpenApiParameter(
                "ordering",
                OpenApiTypes.STR,
                enum=RECEIVER_ORDERS,
                description=f"`{'`, `'.join(RECEIVER_ORDERS)}`; with `-` descending, `-cost` if "
                "absent.",
            ),
        ]
    )
    def list(self, request: Request, mapping_id: str) -> Response:
        """List receivers, those that filter most first, or by another order."""
        order = parameter(request, "ordering", serializers.ChoiceField(choices=RECEIVER_ORDERS))
        search = request.query_params.get("search", "")
        return self.page(self.chosen(request, mapping_id).receivers(order or "-cost", search))

    @extend_schema(
        responses=ReceiverDetailSerializer,
        parameters=[
            MAP,
            OpenApiParameter("user", OpenApiTypes.STR, required=True, description="Its name."),
        ],
    )
    @action(detail=False, methods=["get"])
    def one(self, request: Request, mapping_id: str) -> Response:
        """Return one receiver with the flows that it filters, the dearest first, and why they reach
        it."""
        refuse_unknown(request.query_params, {"map", "user", "format"}, "query parameter")
        name = parameter(request, "user", serializers.CharField(trim_whitespace=False))
        if name is None:
            raise serializers.ValidationError({"user": "Name a subscriber."})
        try:
            row = self.chosen(request, mapping_id).receiver(name)
        except NotOfMapping as error:
            raise serializers.ValidationError({"user": str(error)}) from error
        return Response(ReceiverDetailSerializer(row).data)


class FlowMoveViewSet(RowsOfMap):
    """List the flows that change their stream or group, get one, or lose it."""

    serializer_class = FlowMoveSerializer
    search_fields = ["flow"]

    @extend_schema(parameters=[MAP])
    def list(self, request: Request, mapping_id: str) -> Response:
        """List them, the busiest first; none where no map was in force."""
        search = request.query_params.get("search", "")
        return self.page(self.chosen(request, mapping_id).moves(search))


class MappingMethodsView(APIView):
    """List the methods that this installation knows."""

    @extend_schema(
        operation_id="mapping_methods_list",
        responses=inline_serializer(
            "MappingMethods", {"results": MappingMethodSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every method of mapping with the description of its parameters."""
        methods = [
            {
                "name": name,
                "is_default": name == DEFAULT_METHOD,
                "title": method.TITLE,
                "summary": method.SUMMARY,
                "parameters": describe(method.Params),
            }
            for name, method in sorted(clusterers().items())
        ]
        return Response({"results": methods})


class MappableView(APIView):
    """Say what of a system would be mapped now."""

    @extend_schema(
        operation_id="mappable_retrieve",
        responses=MappableSerializer,
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
    )
    def get(self, request: Request) -> Response:
        """Return how much a system has to map, and why it cannot be mapped."""
        return Response(MappableSerializer(mappable(_system_of(request))).data)


class MapInForceView(APIView):
    """Say what the map that is in force now costs."""

    refuses: ClassVar = {"get": (422, 429)}

    @extend_schema(
        operation_id="map_in_force_retrieve",
        responses=MapInForceSerializer,
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
    )
    def get(self, request: Request) -> Response:
        """Return what unwanted traffic costs by the map that is in force now.

        By the rates of the model, and by those that agents measure.
        """
        return Response(MapInForceSerializer(in_force_now(_system_of(request))).data)


class HandOversView(APIView):
    """Say which flows change their stream now."""

    @extend_schema(
        operation_id="hand_overs_retrieve",
        responses=HandOversSerializer,
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
    )
    def get(self, request: Request) -> Response:
        """Return the hand-overs of flows between streams, under way and of the last minute."""
        return Response(HandOversSerializer(hand_overs_of(_system_of(request))).data)


class FilteringView(APIView):
    """Say what receivers of a system filtered over the last day."""

    @extend_schema(
        operation_id="filtering_retrieve",
        responses=FilteringSerializer,
        parameters=[OpenApiParameter("system", OpenApiTypes.UUID, required=True)],
    )
    def get(self, request: Request) -> Response:
        """Return what receivers filtered in each quarter of an hour of the last day, as measured.

        By the map that was in force then, at the rates that agents measured.
        """
        return Response(FilteringSerializer(filtering_of_day(_system_of(request))).data)


def _system_of(request: Request) -> System:
    """Return the system that the query names, and nothing else. Raises ValidationError."""
    refuse_unknown(request.query_params, {"system", "format"}, "query parameter")
    system: System | None = parameter(request, "system", SystemReference())
    if system is None:
        raise serializers.ValidationError({"system": "Name a system by its id."})
    return system


class MappingSettingsViewSet(SystemSettingsViewSet[MappingSettings]):
    """Manage one row of settings per system: the defaults until somebody changes them."""

    queryset = MappingSettings.objects.select_related("system")
    serializer_class = MappingSettingsSerializer
    document_member = "mapping"
    settings_of = staticmethod(settings_of)
    settings_update = staticmethod(settings_update)
