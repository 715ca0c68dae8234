"""Serve whole tables of objects: import them by name, as JSON or CSV, and export them as CSV.

The kinds that can be imported are those whose view set is an `ImportedViewSet`: all but overlays,
whose links are a tree that agents may route by.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, Generic, TypeVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices
from apps.common.api.forms import Form, parameter
from apps.common.api.parsers import CsvBody, JsonBody
from apps.common.api.preconditions import IDEMPOTENCY_KEY, once
from apps.common.api.problems import flatten
from apps.common.errors import ApplicationError, FieldError
from apps.systems.api.directory import Directory
from apps.systems.api.entities import EntityViewSet
from apps.systems.api.entities import SystemReference as SystemId
from apps.systems.api.tables import columns_of, read_table, write_table
from apps.systems.models import Entity, System
from apps.systems.services import Given, Upserted, entities_upsert, text_of

E = TypeVar("E", bound=Entity)

MOST_ROWS = 20_000
IMPORT_ACTIONS = choices("create", "update")
IN_LIST = re.compile(r"(\w+)\[(\d+)\]\.\w+")


class ImportQuery(Form[dict[str, Any]]):
    """Read how rows are imported."""

    system = SystemId(help_text="The system whose objects the rows are.")
    dry_run = serializers.BooleanField(
        default=False, help_text="Check everything and answer the same, but change nothing."
    )
    create_missing = serializers.CharField(
        default="",
        allow_blank=True,
        help_text="Fields, separated by commas, that may name what is not there: it is created, "
        "too. Of publishers: `correlation_key`; other kinds have none.",
    )
    reason = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Why; kept in the history of every object. JSON may have it in the body.",
    )


class ImportBody(Form[dict[str, Any]]):
    """Read the rows of an import."""

    rows = serializers.ListField(
        child=serializers.DictField(),
        help_text=f"At most {MOST_ROWS:,}. Each has `name` and members as in a POST of this kind; "
        "a member that is left out stays as it is. References are public ids or names.",
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)


class ImportedRowSerializer(serializers.Serializer[Any]):
    """Describe one object that an import creates or changes."""

    name = serializers.CharField()
    action = serializers.ChoiceField(choices=IMPORT_ACTIONS)
    before = serializers.DictField(
        allow_null=True, help_text="The members that differ, references by name; null if created."
    )
    after = serializers.DictField(allow_null=True, help_text="The same members afterwards.")


class AlsoCreatedSerializer(serializers.Serializer[Any]):
    """Describe an object that an import creates because rows refer to it."""

    kind = serializers.CharField(help_text="As in the audit, such as `correlation_key`.")
    name = serializers.CharField()


class ImportedSerializer(serializers.Serializer[Any]):
    """Describe what an import did, or would do."""

    dry_run = serializers.BooleanField()
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    also_created = serializers.IntegerField(
        help_text="Objects that were created because rows refer to them."
    )
    model_version = serializers.IntegerField(
        help_text="The version of the model afterwards; it advances by one if anything but ids and "
        "labels of other systems differs."
    )
    rows = ImportedRowSerializer(many=True, help_text="The first hundred created or changed.")
    also = AlsoCreatedSerializer(many=True, help_text="The first hundred of `also_created`.")


class CsvText(JSONRenderer):
    """Render a table as it is, and a problem as JSON."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"


class RowReader:
    """Read rows with the serializer that reads single objects, one for all rows."""

    def __init__(self, view: EntityViewSet[Any], directory: Directory) -> None:
        self.directory = directory
        context = {
            **view.get_serializer_context(),
            "system": directory.system,
            "directory": directory,
        }
        form: Any = view.get_serializer_class()(context=context)
        self.form = form
        self.children: Collection[str] = form.Meta.model.children

    def read(
        self, given: Given, stored: Any
    ) -> tuple[dict[str, Any], dict[str, Sequence[dict[str, Any]]]]:
        """Return the columns and child rows that a row gives. Raises ApplicationError."""
        self.form.instance, self.form.partial = stored, stored is not None
        owner = {"system": str(self.directory.system.public_id)}
        try:
            if "reason" in given.members:
                message = "Give one reason for all rows, beside them or in the address."
                raise serializers.ValidationError({"reason": message})
            values = dict(self.form.run_validation({**owner, **given.members}))
        except serializers.ValidationError as error:
            raise ApplicationError(
                "invalid",
                "not valid",
                errors=[
                    FieldError(field=_column(given, one["field"]), message=one["message"])
                    for one in flatten(error.detail)
                ],
            ) from error
        values.pop("system", None)
        return values, {name: values.pop(name) for name in self.children if name in values}

    def missing(self) -> Sequence[Entity]:
        """Return the objects that rows refer to and that are to be created."""
        return self.directory.missing()


def _column(given: Given, field: str) -> str:
    """Return the column of a CSV for a member of a list by resource; other fields are their own."""
    cell = IN_LIST.fullmatch(field) if given.line else None
    return f"{cell[1]}.{given.members[cell[1]][int(cell[2])]['resource']}" if cell else field


class ImportedViewSet(EntityViewSet[E], Generic[E]):
    """List, create, read, change, delete, import and export entities."""

    needs = {**EntityViewSet.needs, "import_rows": Permission.EDIT_MODEL}
    create_missing: Sequence[str] = ()
    """The references that an import may create by their name, because nothing else is needed."""

    @extend_schema(
        parameters=[ImportQuery, IDEMPOTENCY_KEY],
        request={"application/json": ImportBody, "text/csv": OpenApiTypes.STR},
        responses=ImportedSerializer,
    )
    @action(detail=False, methods=["post"], url_path="import", parser_classes=[JsonBody, CsvBody])
    def import_rows(self, request: Request) -> Response:
        """Create and change many objects by name, as one edit.

        What is new is created, what differs is changed, the rest stays; nothing is deleted. All of
        it is one transaction and one new version of the model, or none where nothing of it differs.
        One wrong row refuses all: `errors` names up to a hundred by row and field. A CSV (UTF-8;
        comma, semicolon or tab; decimal point) has a header of field names, with references by
        name; an empty cell means none or the default. `Idempotency-Key` counts for what is no dry
        run.
        """
        query = ImportQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        asked = query.validated_data
        create_missing = self._create_missing(asked["create_missing"])

        def run() -> Response:
            rows, reason = self._rows(request, asked["system"])
            done = entities_upsert(
                model=self._model(),
                system=asked["system"],
                actor=actor_of(request),
                rows=rows,
                reader=lambda system: self._reader(system, create_missing),
                prefetch=self.import_prefetch,
                reason=reason or asked["reason"],
                dry_run=asked["dry_run"],
            )
            return Response(_answer(done, dry_run=asked["dry_run"]))

        return run() if asked["dry_run"] else once(request, run)

    @extend_schema(
        filters=True,
        parameters=[
            OpenApiParameter(
                "system", OpenApiTypes.UUID, required=True, description="Whose objects."
            )
        ],
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "A line for each object.")},
    )
    @action(
        detail=False,
        methods=["get"],
        pagination_class=None,
        renderer_classes=[CsvText],
    )
    def export(self, request: Request) -> HttpResponse:
        """Return the objects as CSV, as the import reads it.

        Filters, search and ordering are those of the list. Text that a spreadsheet would take for
        a formula has a `'` in front, which the import takes away. Lists have a column for each
        resource, such as `capacities.cpu`; lists that are not by resource are left out.
        """
        system = parameter(request, "system", SystemId())
        if system is None:
            raise serializers.ValidationError({"system": "Name the system to export."})
        columns = columns_of(self.get_serializer(), system)
        rows = self.filter_queryset(self.get_queryset())
        answer = HttpResponse(
            write_table(columns.values(), rows), content_type="text/csv; charset=utf-8"
        )
        kind = request.path.rstrip("/").split("/")[-2]
        answer["Content-Disposition"] = f'attachment; filename="{kind}.csv"'
        return answer

    def _create_missing(self, text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in self.create_missing:
                known = ", ".join(self.create_missing) or "none"
                message = f'"{name[:60]}" cannot be created by its name; of this kind: {known}.'
                raise serializers.ValidationError({"create_missing": message})
        return names

    def _rows(self, request: Request, system: System) -> tuple[list[Given], str]:
        # Of the parsers one reads text; its type may be in capitals, or "text/*".
        if (request.content_type or "").lower().startswith("text/"):
            # The framework reads no body of length 0.
            text = str(request.data or "")
            rows, reason = read_table(text, columns_of(self.get_serializer(), system)), ""
        else:
            form = ImportBody(data=request.data)
            form.is_valid(raise_exception=True)
            reason = form.validated_data.get("reason", "")
            rows = [
                Given(name=text_of(row.get("name")), members=row, path=f"rows[{index}]")
                for index, row in enumerate(form.validated_data["rows"])
            ]
        if len(rows) > MOST_ROWS:
            message = f"One import takes {MOST_ROWS:,} rows; these are {len(rows):,}. Split them."
            raise ApplicationError.of_field("rows", message, detail=message)
        return rows, reason

    def _reader(self, system: System, create_missing: Collection[str]) -> RowReader:
        directory = Directory(system, create_missing=create_missing, allowed=self.create_missing)
        return RowReader(self, directory)


def _answer(done: Upserted, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "created": done.created,
        "changed": done.changed,
        "unchanged": done.unchanged,
        "also_created": len(done.also_created),
        "model_version": done.model_version,
        "rows": [
            {
                "name": each.row.name,
                "action": each.action,
                "before": each.before,
                "after": each.after,
            }
            for each in done.rows
        ],
        "also": [
            {"kind": each.audited_as(), "name": each.name} for each in done.also_created[:100]
        ],
    }
