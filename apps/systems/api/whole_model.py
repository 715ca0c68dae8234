"""Serve a whole system as one document: read it, and make the system what it says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices
from apps.common.api.forms import Form, no_such, refuse_unknown
from apps.common.connections import one_moment
from apps.common.errors import ApplicationError
from apps.systems.api.directory import Directory
from apps.systems.api.entities import EntityViewSet
from apps.systems.api.imports import MOST_ROWS, RowReader
from apps.systems.api.system_members import (
    LEFT_OUT,
    SystemPropertiesSerializer,
    given_properties,
    given_settings,
    members,
    members_of_settings,
    settings_views,
    writable,
)
from apps.systems.domain.labels import Selector
from apps.systems.models import Entity, System
from apps.systems.selectors import entity_models, in_order_of_use, with_children, with_references
from apps.systems.services import Given, GivenKind, ModelChange, check_creates, model_apply, text_of

ACTIONS = choices("create", "update", "delete")
KINDS_HELP = (
    "Objects by kind, named as in the history: "
    "`broker`, `link`, `overlay`, `correlation_key`, `group`, `stream`, `topic`, `publisher`, "
    "`utility_function`, `consumer_class`, `slo`, `subscriber`. "
)
SETTINGS_HELP = (
    "Settings by what they are of: `calibration` as in a PATCH of /calibration-settings/{id}, "
    "`demand` as in one of /demand-settings/{id}, `mapping` as in one of /mapping-settings/{id}. "
)


@cache
def _views() -> Mapping[str, type[EntityViewSet[Any]]]:
    """Return what serves each kind of object, those first to which others refer."""
    by_model = {view.queryset.model: view for view in _concrete(EntityViewSet)}  # type: ignore[union-attr]
    return {model.audited_as(): by_model[model] for model in in_order_of_use(entity_models())}


def _concrete(base: type[EntityViewSet[Any]]) -> Iterator[type[EntityViewSet[Any]]]:
    for view in base.__subclasses__():
        if view.queryset is not None:
            yield view
        yield from _concrete(view)


MOST_VALUES = 100
"""In one list or object of a system's properties."""


class LabelSelectorField(serializers.CharField):
    """Accept `team=port`, or `team` for any value."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return Selector.of(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


@extend_schema_field(SystemPropertiesSerializer(partial=True))
class PropertiesField(serializers.DictField):
    """Accept properties, which are read once the system is locked."""


class SystemModelForm(Form[dict[str, Any]]):
    """Read what a system is to be."""

    # An answer may be sent back as it is.
    system = serializers.UUIDField(read_only=True)
    system_name = serializers.CharField(read_only=True)
    model_version = serializers.IntegerField(read_only=True)
    properties = PropertiesField(
        required=False,
        help_text="The system itself, as in a PATCH of it; what is left out stays. Where no system "
        "has the id, those with `name` and `product` create it.",
    )
    settings = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        default=dict,
        help_text=SETTINGS_HELP + "What is left out stays.",
    )
    kinds = serializers.DictField(
        child=serializers.ListField(child=serializers.DictField()),
        help_text=KINDS_HELP + "Each row is about the object of its `external_id`, else of its "
        "`name`, and has members as in a POST of the kind; one that is left out stays as it is. "
        f"References are names or public ids. At most {MOST_ROWS:,} rows.",
    )
    delete = serializers.ChoiceField(
        choices=choices("nothing", "rest"),
        default="nothing",
        help_text="`rest`: objects of the given kinds that no row is about are deleted. A kind "
        "with an empty list is emptied; one that is not given stays as it is.",
    )
    within = LabelSelectorField(
        required=False,
        help_text="`managed-by=git`, or `managed-by` for any value: every row has this label, and "
        "only objects that have it are deleted.",
    )
    change_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$",
        required=False,
        help_text="That of the dry run which was reviewed: any other change is refused "
        "(`change_differs`). Needed for what creates the system, for what deletes, and for what "
        "takes over, with `within`, objects without the label.",
    )
    reason = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="Why; kept in the history of every object.",
    )

    def validate_properties(self, properties: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is far too long before the system is locked to read it."""
        for name, value in properties.items():
            if isinstance(value, list | dict) and len(value) > MOST_VALUES:
                message = f"At most {MOST_VALUES} values; these are {len(value):,}."
                raise serializers.ValidationError({name: [message]})
        return properties

    def validate_settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        refuse_unknown(settings, settings_views(), "settings")
        return settings

    def validate_kinds(self, kinds: dict[str, list[Any]]) -> dict[str, list[Any]]:
        refuse_unknown(kinds, _views(), "kind")
        count = sum(map(len, kinds.values()))
        if count > MOST_ROWS:
            raise serializers.ValidationError(
                f"A document takes {MOST_ROWS:,} rows; these are {count:,}. Send some kinds alone, "
                "or import tables by kind."
            )
        return kinds


class SystemModelQuery(Form[dict[str, Any]]):
    """Read how a document is carried out."""

    dry_run = serializers.BooleanField(
        default=False, help_text="Check everything and answer the same, but change nothing."
    )


class SystemModelSerializer(serializers.Serializer[Any]):
    """Describe a whole system."""

    system = serializers.UUIDField()
    system_name = serializers.CharField()
    model_version = serializers.IntegerField()
    properties = SystemPropertiesSerializer(help_text="The system itself.")
    settings = serializers.DictField(
        child=serializers.DictField(), help_text=SETTINGS_HELP + "The defaults, too."
    )
    kinds = serializers.DictField(
        child=serializers.ListField(child=serializers.DictField()),
        help_text=KINDS_HELP + "Objects by name, with what a PUT takes, references by name; "
        "without the interests of subscribers, which have an export of their own.",
    )


class ChangedObjectSerializer(serializers.Serializer[Any]):
    """Describe what a document creates, changes or deletes: an object, the system, settings."""

    kind = serializers.CharField(
        help_text="As in the history, such as `consumer_class`; `system` for the system itself, "
        "and its settings are `calibration_settings`, `demand_settings` and `mapping_settings`."
    )
    name = serializers.CharField()
    action = serializers.ChoiceField(choices=ACTIONS)
    before = serializers.DictField(
        allow_null=True, help_text="The members that differ, references by name; null if created."
    )
    after = serializers.DictField(
        allow_null=True, help_text="The same members afterwards; null if deleted."
    )


class KindCountsSerializer(serializers.Serializer[Any]):
    """Count the objects of one kind."""

    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    deleted = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="Rows whose objects are as they say already.")


COUNTED = (
    "Objects of all kinds; the properties of the system count as one more, and so does each of "
    "its settings."
)


class SystemModelChangeSerializer(serializers.Serializer[Any]):
    """Describe what a document did, or would do."""

    dry_run = serializers.BooleanField()
    change_hash = serializers.CharField(
        help_text="Identifies what differs; to carry out exactly this, send it with the document."
    )
    created = serializers.IntegerField(help_text=COUNTED)
    changed = serializers.IntegerField(help_text=COUNTED)
    deleted = serializers.IntegerField(help_text="Objects of all kinds.")
    unchanged = serializers.IntegerField(
        help_text=COUNTED + " Only what the document gives is counted."
    )
    model_version = serializers.IntegerField(
        help_text="The version of the model afterwards; it advances by one if anything but ids, "
        "labels and settings differs. That of a system that is created is 1."
    )
    kinds = serializers.DictField(
        child=KindCountsSerializer(),
        help_text="Counts of objects alone, by kind, of the kinds given.",
    )
    rows = ChangedObjectSerializer(
        many=True,
        help_text="All that is created, changed or deleted: the system first, then settings, then "
        "objects; what is deleted comes last.",
    )


class SystemModelView(APIView):
    """Read a whole system, and make it what a document says."""

    needs = {"get": Permission.READ, "put": Permission.EDIT_MODEL}
    refuses = {"put": (409, 428), "get": (409,)}

    @extend_schema(
        operation_id="systems_model",
        parameters=[
            OpenApiParameter(
                "kind",
                str,
                many=True,
                description="Only this kind, such as `broker`; may be given several times.",
            )
        ],
        responses=SystemModelSerializer,
    )
    def get(self, request: Request, id: str) -> Response:
        """Return a system with its settings and all objects as one document, which a PUT takes
        back.

        Sent back as it is, it changes nothing; after the system was deleted, it brings that back
        under the same id.
        """
        views = _views()
        wanted = request.query_params.getlist("kind") or [*views]
        for kind in wanted:
            if kind not in views:
                raise serializers.ValidationError({"kind": no_such(kind, views, "kind")})
        with one_moment():
            system = get_object_or_404(System, public_id=id)
            return Response(
                _document(system, {kind: views[kind] for kind in views if kind in wanted})
            )

    @extend_schema(
        operation_id="systems_model_apply",
        parameters=[SystemModelQuery],
        request=SystemModelForm,
        responses={200: SystemModelChangeSerializer, 201: SystemModelChangeSerializer},
    )
    def put(self, request: Request, id: str) -> Response:
        """Create, change and delete objects until the system is as the document says, as one edit.
        Where there is no system of this id, the document may create it.

        A dry run answers what differs, with its `change_hash`; sent again with that hash, exactly
        this change is carried out, or none. It is one transaction and one new version of the model,
        and one wrong row refuses all: `errors` names up to a hundred. Brokers obey the new model
        once a plan of it was approved and executed.
        """
        query = SystemModelQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        dry_run = query.validated_data["dry_run"]
        if not System.objects.filter(public_id=id).exists():
            # Not for a wrong document: whoever mistypes the address has to see that.
            body = request.data if isinstance(request.data, Mapping) else {}
            check_creates(UUID(str(id)), body.get("properties"))
        form = SystemModelForm(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        change = model_apply(
            system_id=UUID(str(id)),
            actor=actor_of(request),
            properties=given_properties(values.get("properties")),
            settings=given_settings(values["settings"]),
            kinds=[self._given(kind, rows) for kind, rows in values["kinds"].items()],
            delete_rest=values["delete"] == "rest",
            within=values.get("within"),
            change_hash=values.get("change_hash", ""),
            reason=values["reason"],
            dry_run=dry_run,
        )
        answer = _answer(change, values["kinds"], dry_run=dry_run)
        body = SystemModelChangeSerializer(answer).data
        if dry_run or not change.created:
            return Response(body)
        address = request.path.rstrip("/").removesuffix("/model")
        return Response(body, status=status.HTTP_201_CREATED, headers={"Location": address})

    def _given(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> GivenKind[Any]:
        view = _views()[kind](request=self.request, format_kwarg=None, action="import_rows")
        return GivenKind(
            model=_model(_views()[kind]),
            rows=[
                Given(
                    name=text_of(row.get("name")),
                    members=row,
                    path=f"kinds.{kind}[{index}]",
                )
                for index, row in enumerate(rows)
            ],
            reader=lambda system: RowReader(view, Directory(system)),
            check_delete=view.check_delete,
            prefetch=view.import_prefetch,
            lists=_lists(_model(_views()[kind]), rows),
        )


def _document(system: System, views: Mapping[str, type[EntityViewSet[Any]]]) -> Any:
    """Return a system as a document, with the objects of these kinds."""
    rows = {kind: _objects(view, system) for kind, view in views.items()}
    count = sum(each.count() for each in rows.values())
    if count > MOST_ROWS:
        raise ApplicationError(
            "model_too_large",
            f"{count:,} objects; a document has {MOST_ROWS:,} at most. Ask for some kinds "
            "alone (`kind=broker`), or for tables by kind (`/topics/export`).",
            status=409,
        )
    document = {
        "system": system.public_id,
        "system_name": system.name,
        "model_version": system.model_version,
        "properties": system,
        "settings": members_of_settings(system),
        "kinds": {kind: _rows(views[kind], each) for kind, each in rows.items()},
    }
    return SystemModelSerializer(document).data


def _model(view: type[EntityViewSet[Any]]) -> type[Entity]:
    assert view.queryset is not None
    return view.queryset.model


def _lists(model: type[Entity], rows: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """Return the child tables that a document has of a kind."""
    given = {name for row in rows for name in row}
    return [name for name in model.children if name not in LEFT_OUT or name in given]


def _objects(view: type[EntityViewSet[Any]], system: System) -> Any:
    model = _model(view)
    rows = with_references(model._default_manager.filter(system=system))
    return with_children(rows, _lists(model)).order_by("name")


def _rows(view: type[EntityViewSet[Any]], objects: Iterable[Entity]) -> list[dict[str, Any]]:
    form: Any = view.serializer_class
    fields = writable(form())
    return [members(each, fields) for each in objects]


COUNTS = {"create": "created", "update": "changed", "delete": "deleted"}


def _answer(change: ModelChange, kinds: Iterable[str], *, dry_run: bool) -> dict[str, Any]:
    counts = {
        kind: {"created": 0, "changed": 0, "deleted": 0, "unchanged": change.unchanged[kind]}
        for kind in kinds
    }
    for each in change.objects:
        counts[each.kind][COUNTS[each.action]] += 1
    actions = [COUNTS[each.action] for each in change.written]
    return {
        "dry_run": dry_run,
        "change_hash": change.hash,
        **{name: actions.count(name) for name in COUNTS.values()},
        "unchanged": sum(change.unchanged.values()) + change.unchanged_members,
        "model_version": change.model_version,
        "kinds": counts,
        "rows": [
            {
                "kind": each.kind,
                "name": each.name,
                "action": each.action,
                "before": each.before,
                "after": each.after,
            }
            for each in change.written
        ],
    }
