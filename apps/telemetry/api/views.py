"""Serve agents and measurements over the REST API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import Amount
from apps.common.api.filters import ChangedFilter, NameSearch, Ordering
from apps.common.api.forms import Form
from apps.common.api.preconditions import repeatable
from apps.systems.api.entities import SystemReference
from apps.telemetry.api.serializers import (
    AgentAddressSerializer,
    AgentSerializer,
    EnrolSerializer,
    LevelsSerializer,
    LossListSerializer,
    NewAgentSerializer,
    SeriesSerializer,
    TelemetrySerializer,
)
from apps.telemetry.models import AGENT_STATES, Agent, in_states
from apps.telemetry.selectors import latest_samples, series
from apps.telemetry.services import agent_address_set, agent_enrol, agent_revoke
from apps.telemetry.services.levels import SPANS, levels
from apps.telemetry.services.losses import losses
from apps.topology.models import Broker

SYSTEM = OpenApiParameter("system", OpenApiTypes.UUID, required=True)
MOST_LEVELS = 50
SPAN = OpenApiParameter(
    "span", OpenApiTypes.STR, enum=list(SPANS), description="`hour`, the default, `day` or `week`."
)
BROKERS = OpenApiParameter(
    "broker",
    OpenApiTypes.UUID,
    many=True,
    required=True,
    description="Repeat the parameter for several brokers; at most 50.",
)
BROKER = OpenApiParameter("broker", OpenApiTypes.UUID, required=True)
MINUTES = OpenApiParameter(
    "minutes", OpenApiTypes.FLOAT, description="How far back; at most 30, 5 when not given."
)


ONLY = OpenApiParameter(
    "only",
    OpenApiTypes.STR,
    enum=["links"],
    description="`links`: return links only; all other measurements are empty.",
)


class AgentFilter(ChangedFilter):
    """Filter agents by system, broker and whether they answer."""

    system = filters.UUIDFilter(field_name="system__public_id")
    broker = filters.UUIDFilter(field_name="broker__public_id")
    state = filters.MultipleChoiceFilter(choices=AGENT_STATES, method="filter_state")

    class Meta:
        model = Agent
        fields = ["product"]

    def filter_state(
        self, agents: QuerySet[Agent], name: str, states: list[str]
    ) -> QuerySet[Agent]:
        """Return the agents in these states now."""
        return agents.filter(in_states(states, timezone.now())) if states else agents


class AgentViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Agent]
):
    """Manage the agents of brokers, and show whether they answer and what they observe."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return the agent of one broker: whether it answers and what it observes."
    }
    queryset = Agent.objects.select_related("system", "broker")
    serializer_class = AgentSerializer
    filterset_class = AgentFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["broker__name", "address", "product"]
    ordering_fields = ["broker__name", "lease_until", "last_report_at"]
    ordering = ["broker__name"]
    needs = dict.fromkeys(["create", "partial_update", "destroy"], Permission.ADMINISTER)

    @extend_schema(request=EnrolSerializer, responses={201: NewAgentSerializer})
    @repeatable(secret="credential", instead="Enrol the broker's agent again, under another key.")
    def create(self, request: Request) -> Response:
        """Enrol the agent of a broker; the answer holds its credential, once."""
        form = EnrolSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        agent, secret = agent_enrol(
            broker=form.validated_data["broker"],
            actor=actor_of(request),
            address=form.validated_data.get("address"),
        )
        return Response(
            {**self.get_serializer(agent).data, "credential": secret},
            status=status.HTTP_201_CREATED,
            headers={"Location": f"/api/v1/agents/{agent.public_id}"},
        )

    @extend_schema(request=AgentAddressSerializer, responses=AgentSerializer)
    def partial_update(self, request: Request, id: str) -> Response:
        """Set where neighbours' agents reach the broker; they connect there at once."""
        form = AgentAddressSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        agent = agent_address_set(
            agent=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return Response(self.get_serializer(agent).data)

    def destroy(self, request: Request, id: str) -> Response:
        """Revoke the credential at once: neighbours end their links with the broker, and reliable
        messages for it wait. The broker itself goes on unchanged."""
        agent_revoke(agent=self.get_object(), actor=actor_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class _OfSystem(Form[dict[str, Any]]):
    system = SystemReference()


class TelemetryView(APIView):
    """Show what agents measure now."""

    @extend_schema(parameters=[SYSTEM], responses=TelemetrySerializer(many=True))
    def get(self, request: Request) -> Response:
        """Return the newest measurements of every broker of a system that measured something
        lately."""
        form = _OfSystem(data=request.query_params)
        form.is_valid(raise_exception=True)
        samples = latest_samples(form.validated_data["system"])
        rows: Any = TelemetrySerializer(instance=samples, many=True)  # type: ignore[arg-type]
        return Response(rows.data)


class LossesView(APIView):
    """Show all losses that agents have reported."""

    @extend_schema(operation_id="losses_list", parameters=[SYSTEM], responses=LossListSerializer)
    def get(self, request: Request) -> Response:
        """Return the messages that agents took and could not forward, by broker, flow and
        reason."""
        form = _OfSystem(data=request.query_params)
        form.is_valid(raise_exception=True)
        rows = losses(form.validated_data["system"].pk)
        return Response(LossListSerializer({"results": rows}).data)


class _OfBroker(Form[dict[str, Any]]):
    broker = SystemReference(queryset=Broker.objects.all())
    minutes = Amount(default=5.0, min_value=0.1, max_value=30.0)
    only = serializers.ChoiceField(choices=["links"], required=False)


class TelemetrySeriesView(APIView):
    """Show what was measured in the last minutes."""

    @extend_schema(parameters=[BROKER, MINUTES, ONLY], responses=SeriesSerializer)
    def get(self, request: Request) -> Response:
        """Return one broker's measurements, about one a second, oldest first."""
        form = _OfBroker(data=request.query_params)
        form.is_valid(raise_exception=True)
        broker, minutes = form.validated_data["broker"], form.validated_data["minutes"]
        body = {
            "broker": broker.public_id,
            "broker_name": broker.name,
            "minutes": minutes,
            "points": series(broker, minutes=minutes),
        }
        only = {"only": form.validated_data.get("only")}
        return Response(SeriesSerializer(body, context=only).data)


class _Levels(_OfSystem):
    span = serializers.ChoiceField(choices=list(SPANS), default="hour")
    broker = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_LEVELS)


class TelemetryLevelsView(APIView):
    """Show what brokers handled over the last hour, day or week."""

    @extend_schema(parameters=[SYSTEM, SPAN, BROKERS], responses=LevelsSerializer)
    def get(self, request: Request) -> Response:
        """Return one mean per cell: 60 of a minute, 96 of a quarter of an hour, or 84 of two
        hours."""
        form = _Levels(data=request.query_params)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        cells = levels(given["system"], given["broker"], SPANS[given["span"]])
        return Response(LevelsSerializer(cells).data)
