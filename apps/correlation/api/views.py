"""Search for publishers that burst together over the REST API, and decide suggestions."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import mixins, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.catalog.models import Topic
from apps.common.api.filters import FilterSet, NameSearch, Ordering
from apps.common.api.preconditions import repeatable
from apps.correlation.api.pages import NamePages
from apps.correlation.api.serializers import (
    AcceptanceSerializer,
    CorrelationAnalysisDetailSerializer,
    CorrelationAnalysisSerializer,
    CorrelationRequestSerializer,
    DecisionSerializer,
    MemberSerializer,
    PublisherTimesSerializer,
    RecordingSerializer,
    SuggestionSerializer,
)
from apps.correlation.models import CorrelationAnalysis, Suggestion
from apps.correlation.selectors.measured import measured_at_a_glance
from apps.correlation.selectors.recordings import recordings
from apps.correlation.selectors.suggestions import (
    facts_of,
    members_described,
    with_counts,
    with_key,
    without_members,
)
from apps.correlation.services import (
    correlation_request,
    suggestion_accept,
    suggestion_reject,
    suggestion_undo,
)
from apps.runs.api.computed import ComputedFilter
from apps.runs.api.views import RunSerializer, accepted


class CorrelationAnalysisFilter(ComputedFilter):
    """Filter analyses by system, topic, run and source."""

    system = filters.UUIDFilter(field_name="system__public_id")
    topic = filters.UUIDFilter(field_name="topic__public_id")
    run = filters.UUIDFilter(field_name="run__public_id")

    class Meta:
        model = CorrelationAnalysis
        fields = ["source"]


class CorrelationAnalysisViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[CorrelationAnalysis]
):
    """List searches for publishers that burst together."""

    queryset = CorrelationAnalysis.objects.select_related(
        "system", "topic", "run__snapshot", "run__asked_by", "run__system"
    ).defer("run__snapshot__payload", "outcome")
    serializer_class = CorrelationAnalysisSerializer
    filterset_class = CorrelationAnalysisFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["topic_name", "recording", "system__name"]
    ordering_fields = ["created_at", "number", "publishers", "groups"]
    ordering = ["-id"]
    needs = {"create": Permission.START_RUN}
    refuses = {"create": (409,)}

    def get_queryset(self) -> QuerySet[CorrelationAnalysis]:
        rows = super().get_queryset()
        return with_counts(rows) if self.action == "retrieve" else rows

    def get_serializer_class(self) -> Any:
        if self.action == "retrieve":
            return CorrelationAnalysisDetailSerializer
        return CorrelationAnalysisSerializer

    @extend_schema(request=CorrelationRequestSerializer, responses={202: RunSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Search for publishers of a topic that burst together.

        What was measured, or which recording is searched, is frozen, and a run is opened on it.
        """
        form = CorrelationRequestSerializer(data=request.data, context={})
        form.is_valid(raise_exception=True)
        return accepted(
            correlation_request(actor=actor_of(request), **form.validated_data), request
        )


class SuggestionFilter(FilterSet):
    """Filter suggestions by their state and kind."""

    class Meta:
        model = Suggestion
        fields = ["state", "kind"]


class AnalysisSuggestionViewSet(viewsets.GenericViewSet[Suggestion]):
    """List the suggestions of an analysis."""

    queryset = Suggestion.objects.all()
    serializer_class = SuggestionSerializer
    filterset_class = SuggestionFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    ordering_fields = ["number", "size", "share", "spread_s", "rate_per_s", "decided_at"]
    ordering = ["number"]

    def get_queryset(self) -> QuerySet[Suggestion]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset().none()
        self.analysis = get_object_or_404(
            CorrelationAnalysis.objects.defer("outcome"), public_id=self.kwargs["analysis_id"]
        )
        return without_members(self.analysis)

    def list(self, request: Request, analysis_id: str) -> Response:
        """List what was suggested, the largest group first, with the keys of now."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        context = {**self.get_serializer_context(), "facts": facts_of(self.analysis, page)}
        rows = SuggestionSerializer(page, many=True, context=context)
        return self.get_paginated_response(rows.data)


class SuggestionViewSet(viewsets.GenericViewSet[Suggestion]):
    """Read a suggestion, and decide what becomes of it."""

    queryset = with_key(
        Suggestion.objects.select_related("analysis", "decided_by").defer(
            "members", "applied", "analysis__outcome"
        )
    )
    serializer_class = SuggestionSerializer
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    needs = dict.fromkeys(["accept", "reject", "undo"], Permission.EDIT_MODEL)
    refuses = {"accept": (409,), "reject": (409,), "undo": (409, 412)}

    def _answer(self, suggestion: Suggestion) -> Response:
        fresh = self.get_queryset().get(pk=suggestion.pk)
        facts = facts_of(fresh.analysis, [fresh])
        context = {**self.get_serializer_context(), "facts": facts}
        return Response(SuggestionSerializer(fresh, context=context).data)

    def _decided(
        self, request: Request, form_of: type[Any], decide: Callable[..., Suggestion]
    ) -> Response:
        form = form_of(data=request.data)
        form.is_valid(raise_exception=True)
        suggestion = decide(
            suggestion=self.get_object(), actor=actor_of(request), **form.validated_data
        )
        return self._answer(suggestion)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one suggestion with the keys that its members carry now."""
        return self._answer(self.get_object())

    @extend_schema(request=AcceptanceSerializer, responses=SuggestionSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def accept(self, request: Request, id: str) -> Response:
        """Give the members in the catalogue one correlation key, as one edit of the model; those
        that have another keep it, unless `replace` is sent."""
        return self._decided(request, AcceptanceSerializer, suggestion_accept)

    @extend_schema(request=DecisionSerializer, responses=SuggestionSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def reject(self, request: Request, id: str) -> Response:
        """Reject the suggestion; later ones of nearly the same publishers say so."""
        return self._decided(request, DecisionSerializer, suggestion_reject)

    @extend_schema(request=DecisionSerializer, responses=SuggestionSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def undo(self, request: Request, id: str) -> Response:
        """Open the suggestion again. Of an acceptance, publishers that still carry its key get the
        one before; the key goes where it was made for them and nobody has it."""
        return self._decided(request, DecisionSerializer, suggestion_undo)


class MemberViewSet(viewsets.GenericViewSet[Any]):
    """List the members of a suggestion."""

    queryset = Suggestion.objects.all()
    serializer_class = MemberSerializer
    pagination_class = NamePages
    filter_backends = [NameSearch]
    search_fields = ["publisher"]

    def list(self, request: Request, suggestion_id: str) -> Response:
        """List the members by name, with their publishers in the catalogue."""
        suggestion = get_object_or_404(
            Suggestion.objects.select_related("analysis").only(
                "members", "analysis__system", "analysis__topic"
            ),
            public_id=suggestion_id,
        )
        words = request.query_params.get("search", "").casefold().split()
        names = [
            name for name in suggestion.members if all(word in name.casefold() for word in words)
        ]
        page: Any = self.paginate_queryset(cast("Any", names)) or []
        rows: Any = members_described(suggestion.analysis, [each.publisher for each in page])
        return self.get_paginated_response(MemberSerializer(rows, many=True).data)


class RecordingsView(APIView):
    """List the recordings of messages in the folder of recordings."""

    @extend_schema(
        operation_id="recordings_list",
        responses=inline_serializer("Recordings", {"results": RecordingSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Return every recording, those that were changed last first."""
        return Response({"results": RecordingSerializer(recordings(), many=True).data})


class PublisherTimesView(APIView):
    """Say how much is measured of a topic's publishers."""

    @extend_schema(
        operation_id="topics_publisher_times_retrieve", responses=PublisherTimesSerializer
    )
    def get(self, request: Request, id: str) -> Response:
        """Return of how many of a topic's publishers agents know when they sent in the last half
        hour."""
        topic = get_object_or_404(Topic.objects.select_related("system"), public_id=id)
        measured = measured_at_a_glance(topic)
        row = {
            "publishers": measured.publishers,
            "heard": measured.heard,
            "timed": len(measured.names),
            "wrong_clock": measured.wrong_clock,
            "unreported": measured.unreported,
            "shortened": measured.shortened,
            "since": _instant(measured.since_s),
            "until": _instant(measured.until_s),
            "messages": measured.messages,
        }
        return Response(PublisherTimesSerializer(row).data)


def _instant(at_s: float | None) -> datetime | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, UTC)
