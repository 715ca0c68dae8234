"""Serve imports of interests in the background, and the export of all interests of a system."""

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.catalog.models import ImportMode, ImportPhase, InterestImport
from apps.catalog.selectors import interests_csv
from apps.catalog.services import import_cancel, import_start
from apps.common.api.fields import choices, command_list
from apps.common.api.filters import CreatedFilter, NameSearch, Ordering, Person
from apps.common.api.forms import Form, parameter
from apps.common.api.parsers import PackedBody, PackedCsv, PackedJson
from apps.common.api.preconditions import IDEMPOTENCY_KEY, once, repeatable
from apps.common.errors import ApplicationError
from apps.systems.api.entities import SystemReference as SystemId
from apps.systems.api.imports import CsvText
from weir.lifecycle.imports import IMPORTS, ImportState

MOST_LINES = 5_000_000
CREATED_BY_NAME = "subscribers"
IMPORT_STATES = choices(*ImportState)
IMPORT_COMMANDS = choices("cancel")
OUTCOME = "0 before the import has compared."


class InterestImportQuery(Form[dict[str, Any]]):
    """Read how interests are imported."""

    system = SystemId(help_text="The system whose subscribers the lines name.")
    mode = serializers.ChoiceField(choices=ImportMode.choices)
    dry_run = serializers.BooleanField(
        default=False, help_text="Check and count everything, but change nothing."
    )
    create_missing = serializers.CharField(
        default="",
        allow_blank=True,
        help_text="`subscribers`: those that are not there are created; not with `remove`.",
    )
    reason = serializers.CharField(
        default="", allow_blank=True, max_length=500, help_text="Why; kept in the history."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        names = [name.strip() for name in attrs["create_missing"].split(",") if name.strip()]
        unknown = [name for name in names if name != CREATED_BY_NAME]
        if unknown:
            message = f'"{unknown[0][:60]}" cannot be created by its name; only `subscribers` can.'
            raise serializers.ValidationError({"create_missing": message})
        if names and attrs["mode"] == ImportMode.REMOVE:
            message = "A subscriber that is not there has no interests to remove; leave this out."
            raise serializers.ValidationError({"create_missing": message})
        attrs["create_missing"] = names[:1]
        return attrs


class InterestLineSerializer(serializers.Serializer[Any]):
    """Read one interest of an import."""

    subscriber = serializers.CharField(max_length=200, help_text="Its name.")
    topic = serializers.CharField(max_length=200, help_text="Its name.")


class InterestImportBody(serializers.Serializer[Any]):
    """Read the interests of an import."""

    rows = InterestLineSerializer(many=True, help_text=f"At most {MOST_LINES:,}.")


class ImportErrorSerializer(serializers.Serializer[Any]):
    """Describe what is wrong with one line of an import."""

    line = serializers.IntegerField(
        help_text="The line of the CSV, whose header is line 1; of JSON the place in `rows`, the "
        "first is 1."
    )
    field = serializers.CharField(
        help_text="`subscriber` or `topic`; empty where the line as a whole is wrong."
    )
    message = serializers.CharField()


class InterestImportSerializer(serializers.ModelSerializer[InterestImport]):
    """Describe an import of interests: its progress, and what it changed."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `I-3`.")
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    state = serializers.ChoiceField(choices=IMPORT_STATES, read_only=True)
    phase = serializers.ChoiceField(choices=ImportPhase.choices, read_only=True)
    started_by = serializers.CharField(
        source="started_by.display_name", read_only=True, allow_null=True, default=None
    )
    started_by_id = serializers.UUIDField(
        source="started_by.public_id", read_only=True, allow_null=True, default=None
    )
    errors = ImportErrorSerializer(  # type: ignore[assignment]
        many=True, read_only=True, help_text="The first hundred."
    )
    cancel_requested = serializers.SerializerMethodField()
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = InterestImport
        fields = [
            "id",
            "number",
            "name",
            "system",
            "system_name",
            "mode",
            "dry_run",
            "create_missing",
            "reason",
            "state",
            "phase",
            "done",
            "total",
            "size_bytes",
            "lines",
            "repeated",
            "added",
            "removed",
            "unchanged",
            "subscribers_changed",
            "subscribers_created",
            "model_version",
            "error_count",
            "errors",
            "failure",
            "started_by",
            "started_by_id",
            "created_at",
            "started_at",
            "ended_at",
            "cancel_requested",
            "allowed_commands",
        ]
        read_only_fields = fields
        extra_kwargs = {
            "number": {"help_text": "Within the system."},
            "create_missing": {"help_text": "`subscribers`, or empty."},
            "done": {"help_text": "Lines, or in the phase `write` interests, of `total`."},
            "total": {
                "help_text": "Of the phase; in the phase `read` about the lines of the file."
            },
            "size_bytes": {"help_text": "Of the file that was sent."},
            "lines": {"help_text": "Interests that the file lists, repeated ones included."},
            "repeated": {"help_text": "Lines that list what a line before them lists."},
            "added": {"help_text": f"Interests that began, or would begin. {OUTCOME}"},
            "removed": {"help_text": f"Interests that ended, or would end. {OUTCOME}"},
            "unchanged": {"help_text": f"Listed interests that are as listed already. {OUTCOME}"},
            "subscribers_changed": {
                "help_text": f"Subscribers whose interests differ, without new ones. {OUTCOME}"
            },
            "subscribers_created": {"help_text": f"Subscribers that are new. {OUTCOME}"},
            "model_version": {
                "help_text": "The version of the model afterwards; null where nothing was changed."
            },
            "error_count": {"help_text": "All errors, those beside `errors` included."},
            "failure": {"help_text": "Why the import failed; empty in other states."},
        }

    def get_cancel_requested(self, row: InterestImport) -> bool:
        return row.cancel_requested_at is not None

    @extend_schema_field(command_list(IMPORT_COMMANDS))
    def get_allowed_commands(self, row: InterestImport) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EDIT_MODEL in granted(request)
        going_on = row.state not in IMPORTS.ended and row.cancel_requested_at is None
        return ["cancel"] if may and going_on else []


class CancelImportSerializer(Form[dict[str, Any]]):
    """Read why somebody cancels an import."""

    reason = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=500, help_text="For the audit."
    )


class InterestImportFilter(CreatedFilter):
    """Filter imports by system, state, mode, person and time."""

    system = filters.UUIDFilter(field_name="system__public_id")
    state = filters.MultipleChoiceFilter(choices=IMPORT_STATES)
    person = Person("started_by")

    class Meta:
        model = InterestImport
        fields = ["mode", "dry_run"]


class InterestImportViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[InterestImport]
):
    """List imports of interests."""

    words: ClassVar[dict[str, str]] = {
        "retrieve": "Return one import: its progress, its errors by line, what it changed."
    }
    queryset = InterestImport.objects.select_related("system", "started_by")
    serializer_class = InterestImportSerializer
    filterset_class = InterestImportFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["reason", "system__name", "started_by__username"]
    ordering_fields = ["created_at", "ended_at", "state"]
    ordering = ["-id"]
    needs = {"create": Permission.EDIT_MODEL, "cancel": Permission.EDIT_MODEL}
    refuses = {"cancel": (409,)}

    def get_parsers(self) -> list[Any]:
        creates = self.request is not None and self.request.path.endswith("/interest-imports")
        return [PackedCsv(), PackedJson()] if creates else super().get_parsers()

    @extend_schema(
        parameters=[InterestImportQuery, IDEMPOTENCY_KEY],
        request={"text/csv": OpenApiTypes.STR, "application/json": InterestImportBody},
        responses={202: InterestImportSerializer},
    )
    def create(self, request: Request) -> Response:
        """Import the interests of many subscribers, in the background.

        `add`: what is listed begins. `remove`: what is listed ends. `replace`: each subscriber that
        is listed wants exactly what is listed for it; others stay as they are. All of it is one
        transaction and one new version of the model, or none where nothing differs; one wrong line
        refuses all. A CSV (UTF-8; comma, semicolon or tab) has the header `subscriber,topic` and
        names. At most 128 MiB and 5,000,000 lines.
        """
        query = InterestImportQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        body: Any = request.data
        if not isinstance(body, PackedBody):
            # The framework reads no body whose length is 0 or was not sent.
            message = "The file is empty; send a CSV or JSON, and its `Content-Length`."
            raise serializers.ValidationError(message)
        if body.media_type == PackedCsv.media_type and body.line_ends > MOST_LINES + 1:
            message = f"One import takes {MOST_LINES:,} lines; these are {body.line_ends:,}. "
            raise ApplicationError.of_field("rows", message + "Split them.")

        def start() -> Response:
            by_json = body.media_type == PackedJson.media_type
            row = import_start(
                actor=actor_of(request),
                media_type=body.media_type,
                size_bytes=body.size_bytes,
                lines_about=max(body.braces if by_json else body.line_ends, 1) - 1,
                pieces=body.pieces(),
                **query.validated_data,
            )
            return self._accepted(row)

        with body.file:
            return once(request, start, body_sha256=body.sha256)

    @extend_schema(request=CancelImportSerializer, responses={202: InterestImportSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def cancel(self, request: Request, id: str) -> Response:
        """Stop the import; nothing of it is kept."""
        form = CancelImportSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        row = import_cancel(
            row=self.get_object(), actor=actor_of(request), reason=form.validated_data["reason"]
        )
        return self._accepted(row)

    def _accepted(self, row: InterestImport) -> Response:
        fresh = self.get_queryset().get(pk=row.pk)
        return Response(
            self.get_serializer(fresh).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/interest-imports/{row.public_id}"},
        )


class InterestViewSet(viewsets.GenericViewSet[Any]):
    """Export the interests of all subscribers of a system."""

    queryset = InterestImport.objects.none()
    pagination_class = None
    filter_backends: list[Any] = []
    never_alike = ("export",)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "system", OpenApiTypes.UUID, required=True, description="Whose interests."
            )
        ],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "A line for each interest.")
        },
    )
    @action(detail=False, methods=["get"], renderer_classes=[CsvText])
    def export(self, request: Request) -> StreamingHttpResponse:
        """Return every interest of a system as CSV, as the import reads it.

        Ordered by subscriber and topic. A name that a spreadsheet would take for a formula has a
        `'` in front, which the import takes away.
        """
        system = parameter(request, "system", SystemId())
        if system is None:
            raise serializers.ValidationError({"system": "Name the system to export."})
        answer = StreamingHttpResponse(
            interests_csv(system), content_type="text/csv; charset=utf-8"
        )
        answer["Content-Disposition"] = 'attachment; filename="interests.csv"'
        return answer
