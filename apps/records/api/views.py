"""Serve batches of records, rows that were set aside, and how records are kept."""

from typing import Any, ClassVar

from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import CreatedFilter, FilterSet, Ordering, TrueOrFalse
from apps.common.api.forms import Form
from apps.common.api.parsers import RawBody
from apps.common.api.preconditions import repeatable
from apps.records.api.serializers import (
    SET_ASIDE_STATES,
    ChoiceSerializer,
    DiscardedSerializer,
    RecordBatchQuery,
    RecordBatchSerializer,
    RecordCountsSerializer,
    RecordSettingsSerializer,
    ReplayedSerializer,
    ReplaySerializer,
    SetAsideSerializer,
)
from apps.records.models import RecordBatch, RecordSettings, RecordTable, SetAsideRow
from apps.records.selectors import WAITS, batch_rows, counts_of, set_aside_rows, settings_of
from apps.records.services import (
    Choice,
    batch_receive,
    set_aside_discard,
    set_aside_replay,
    settings_update,
)
from apps.systems.api.entities import SystemReference
from apps.systems.api.settings import SystemSettingsViewSet

SYSTEM = OpenApiParameter("system", OpenApiTypes.UUID, required=True)


class JsonLines(RawBody):
    """Records as JSON, each on a line of its own."""

    media_type = "application/x-ndjson"


class CsvRecords(RawBody):
    """Records as a table of text with a header."""

    media_type = "text/csv"


class ParquetRecords(RawBody):
    """Records as a Parquet file."""

    media_type = "application/vnd.apache.parquet"


PARSERS = (JsonLines, CsvRecords, ParquetRecords)


class RecordBatchFilter(CreatedFilter):
    """Filter batches by system, table, time and whether rows of them wait."""

    system = filters.UUIDFilter(field_name="system__public_id")
    waiting = TrueOrFalse(
        method="with_waiting", help_text="`true`: those alone of which rows wait."
    )

    class Meta:
        model = RecordBatch
        fields = ["table", "name"]

    def with_waiting(self, rows: Any, name: str, value: bool) -> Any:
        return rows.filter(waiting__gt=0) if value else rows.filter(waiting=0)


class RecordBatchViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[RecordBatch]
):
    """List batches of records."""

    words: ClassVar[dict[str, str]] = {
        "retrieve": "Return one batch: what became of its rows.",
    }
    queryset = batch_rows()
    serializer_class = RecordBatchSerializer
    filterset_class = RecordBatchFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["created_at", "rows"]
    ordering = ["-id"]
    needs = {"create": Permission.SEND_RECORDS}
    refuses = {"create": (409,)}

    def get_parsers(self) -> list[Any]:
        creates = self.request is not None and self.request.path.endswith("/record-batches")
        return [parser() for parser in PARSERS] if creates else super().get_parsers()

    @extend_schema(
        parameters=[RecordBatchQuery],
        request={
            "application/x-ndjson": OpenApiTypes.STR,
            "text/csv": OpenApiTypes.STR,
            "application/vnd.apache.parquet": OpenApiTypes.BINARY,
        },
        responses={200: RecordBatchSerializer, 201: RecordBatchSerializer},
    )
    @repeatable()
    def create(self, request: Request) -> Response:
        """Take a batch of records: JSON lines, CSV (UTF-8, with a header) or a Parquet file.

        Its columns are those of `docs/formats.md`, *Records and facts*. Rows that fit are kept; the
        others are set aside with their problem, and the batch is taken all the same. A sender that
        got no answer sends the batch again: it counts once, and the answer is 200 and not 201. At
        most 32 MiB and 100,000 rows.
        """
        query = RecordBatchQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        values = query.validated_data
        body: Any = request.data
        if not isinstance(body, bytes) or not body:
            # The framework reads no body whose length is 0 or was not sent.
            message = "The batch is empty; send rows, and their `Content-Length`."
            raise serializers.ValidationError(message)
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        batch, repeated = batch_receive(
            system=values["system"],
            table=values["table"],
            name=values["batch"],
            body=body,
            media_type=media_type,
            actor=actor_of(request),
        )
        fresh = self.get_queryset().get(pk=batch.pk)
        return Response(
            self.get_serializer(fresh).data,
            status=status.HTTP_200_OK if repeated else status.HTTP_201_CREATED,
            headers={"Location": f"/api/v1/record-batches/{batch.public_id}"},
        )


class SetAsideFilter(FilterSet):
    """Filter rows that were set aside by system, batch, place in it, table, problem and state."""

    system = filters.UUIDFilter(field_name="batch__system__public_id")
    batch = filters.UUIDFilter(field_name="batch__public_id")
    table = filters.ChoiceFilter(field_name="batch__table", choices=RecordTable.choices)
    state = filters.ChoiceFilter(method="in_state", choices=SET_ASIDE_STATES)

    class Meta:
        model = SetAsideRow
        fields = ["problem"]

    def in_state(self, rows: Any, name: str, value: str) -> Any:
        if value == "waiting":
            return rows.filter(WAITS)
        return rows.exclude(ended_at=None).filter(taken_in__isnull=value == "discarded")


class SetAsideViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[SetAsideRow]):
    """List rows of records that did not fit, the latest batch first."""

    queryset = set_aside_rows()
    serializer_class = SetAsideSerializer
    filterset_class = SetAsideFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    ordering_fields = ["row"]
    ordering = ["-batch_id", "row"]
    needs = {"replay": Permission.EDIT_MODEL, "discard": Permission.EDIT_MODEL}
    refuses = {"replay": (409,), "discard": (409,)}

    @extend_schema(request=ReplaySerializer, responses=ReplayedSerializer)
    @action(detail=False, methods=["post"])
    @repeatable()
    def replay(self, request: Request) -> Response:
        """Check rows again that wait, and take those that fit now, however old they are.

        What is taken of a batch is a batch of its own, whose `replay_of` is the first. One request
        takes 20,000 rows; `left` says how many match beyond that.
        """
        form = ReplaySerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        amended = {each["row"]: each["content"] for each in values.get("amended", [])}
        replayed = set_aside_replay(
            choice=_choice(values),
            actor=actor_of(request),
            amended=amended,
            reason=values["reason"],
        )
        return Response(ReplayedSerializer(replayed).data)

    @extend_schema(request=ChoiceSerializer, responses=DiscardedSerializer)
    @action(detail=False, methods=["post"])
    @repeatable()
    def discard(self, request: Request) -> Response:
        """Give up rows that wait; they are shown for as long as their batch is kept."""
        form = ChoiceSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        discarded, left = set_aside_discard(
            choice=_choice(values), actor=actor_of(request), reason=values["reason"]
        )
        return Response(DiscardedSerializer({"discarded": discarded, "left": left}).data)


def _choice(values: dict[str, Any]) -> Choice:
    return Choice(
        system=values["system"],
        table=values.get("table", ""),
        problem=values.get("problem", ""),
        batch=values.get("batch"),
        rows=values.get("rows"),
    )


class _OfSystem(Form[dict[str, Any]]):
    system = SystemReference()


class RecordCountsView(APIView):
    """Say what arrived of a system, and what waits."""

    @extend_schema(
        operation_id="record_counts_retrieve",
        parameters=[SYSTEM],
        responses=RecordCountsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Count batches and rows of a system by table, and the rows that wait by problem."""
        form = _OfSystem(data=request.query_params)
        form.is_valid(raise_exception=True)
        may = Permission.EDIT_MODEL in granted(request)
        commands = ["replay", "discard"] if may else []
        counts = {**counts_of(form.validated_data["system"]), "allowed_commands": commands}
        return Response(RecordCountsSerializer(counts).data)


class RecordSettingsViewSet(SystemSettingsViewSet[RecordSettings]):
    """Manage one row of settings per system: the defaults until somebody changes them."""

    queryset = RecordSettings.objects.select_related("system")
    serializer_class = RecordSettingsSerializer
    settings_of = staticmethod(settings_of)
    settings_update = staticmethod(settings_update)
