"""Serve the whole model of a system as one document: read it, and make the model what it says."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from django.db.models import Model
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices
from apps.common.api.forms import Form, no_such, refuse_unknown
from apps.common.errors import ApplicationError
from apps.systems.api.directory import Directory
from apps.systems.api.entities import EntityViewSet, Reference
from apps.systems.api.imports import MOST_ROWS, RowReader
from apps.systems.domain.labels import Selector
from apps.systems.models import Entity, System
from apps.systems.selectors import entity_models, in_order_of_use, with_children, with_references
from apps.systems.services import Given, GivenKind, ModelChange, model_apply, text_of

ACTIONS = choices("create", "update", "delete")
LEFT_OUT = frozenset({"interests"})
"""Lists that a document does not show: interests may be millions, and have tables of their own."""

KINDS_HELP = (
    "Objects by kind, named as in the history: "
    "`broker`, `link`, `overlay`, `correlation_key`, `group`, `stream`, `topic`, `publisher`, "
    "`utility_function`, `consumer_class`, `slo`, `subscriber`. "
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


class LabelSelectorField(serializers.CharField):
    """Accept `team=port`, or `team` for any value."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return Selector.of(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class SystemModelForm(Form[dict[str, Any]]):
    """Read what a model is to be."""

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
        "(`change_differs`). Needed for what deletes, and for what takes over, with `within`, "
        "objects without the label.",
    )
    reason = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="Why; kept in the history of every object.",
    )

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
    """Describe a whole model."""

    system = serializers.UUIDField()
    system_name = serializers.CharField()
    model_version = serializers.IntegerField()
    kinds = serializers.DictField(
        child=serializers.ListField(child=serializers.DictField()),
        help_text=KINDS_HELP + "Objects by name, with what a PUT takes, references by name; "
        "without the interests of subscribers, which have an export of their own.",
    )


class ChangedObjectSerializer(serializers.Serializer[Any]):
    """Describe one object that a document creates, changes or deletes."""

    kind = serializers.CharField(help_text="As in the history, such as `consumer_class`.")
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


class SystemModelChangeSerializer(serializers.Serializer[Any]):
    """Describe what a document did, or would do."""

    dry_run = serializers.BooleanField()
    change_hash = serializers.CharField(
        help_text="Identifies what differs; to carry out exactly this, send it with the document."
    )
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    deleted = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    model_version = serializers.IntegerField(
        help_text="The version of the model afterwards; it advances by one if anything but ids and "
        "labels of other systems differs."
    )
    kinds = serializers.DictField(
        child=KindCountsSerializer(), help_text="The same counts by kind, of the kinds given."
    )
    rows = ChangedObjectSerializer(
        many=True, help_text="All that is created, changed or deleted; what is deleted comes last."
    )


class SystemModelView(APIView):
    """Read the whole model of a system, and make it what a document says."""

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
        """Return all objects of a system as one document, which a PUT takes back.

        Sent back as it is, it changes nothing.
        """
        system = get_object_or_404(System, public_id=id)
        views = _views()
        wanted = request.query_params.getlist("kind") or [*views]
        for kind in wanted:
            if kind not in views:
                raise serializers.ValidationError({"kind": no_such(kind, views, "kind")})
        rows = {kind: _objects(views[kind], system) for kind in views if kind in wanted}
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
            "kinds": {kind: _rows(views[kind], each) for kind, each in rows.items()},
        }
        return Response(SystemModelSerializer(document).data)

    @extend_schema(
        operation_id="systems_model_apply",
        parameters=[SystemModelQuery],
        request=SystemModelForm,
        responses=SystemModelChangeSerializer,
    )
    def put(self, request: Request, id: str) -> Response:
        """Create, change and delete objects until the model is as the document says, as one edit.

        A dry run answers what differs, with its `change_hash`; sent again with that hash, exactly
        this change is carried out, or none. It is one transaction and one new version of the model,
        and one wrong row refuses all: `errors` names up to a hundred. Brokers obey the new model
        once a plan of it was approved and executed.
        """
        query = SystemModelQuery(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        dry_run = query.validated_data["dry_run"]
        system = get_object_or_404(System, public_id=id)
        form = SystemModelForm(data=request.data)
        form.is_valid(raise_exception=True)
        values = form.validated_data
        change = model_apply(
            system=system,
            actor=actor_of(request),
            kinds=[self._given(kind, rows) for kind, rows in values["kinds"].items()],
            delete_rest=values["delete"] == "rest",
            within=values.get("within"),
            change_hash=values.get("change_hash", ""),
            reason=values["reason"],
            dry_run=dry_run,
        )
        answer = _answer(change, values["kinds"], dry_run=dry_run)
        return Response(SystemModelChangeSerializer(answer).data)

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
    fields = _writable(form())
    return [_members(each, fields) for each in objects]


def _writable(form: Any) -> list[Any]:
    return [
        field
        for name, field in form.fields.items()
        if not field.read_only and not field.write_only and name not in ("system", *LEFT_OUT)
    ]


def _members(row: Model, fields: Iterable[Any]) -> dict[str, Any]:
    """Return an object, or a row of its lists, with references by name."""
    return {field.field_name: _member(getattr(row, field.source), field) for field in fields}


def _member(value: Any, field: Any) -> Any:
    if isinstance(field, serializers.ListSerializer):
        inner = _writable(field.child)
        return [_members(child, inner) for child in value.all()]
    if value is None:
        return None
    return value.name if isinstance(field, Reference) else field.to_representation(value)


def _answer(change: ModelChange, kinds: Iterable[str], *, dry_run: bool) -> dict[str, Any]:
    counts = {
        kind: {"created": 0, "changed": 0, "deleted": 0, "unchanged": change.unchanged[kind]}
        for kind in kinds
    }
    member = {"create": "created", "update": "changed", "delete": "deleted"}
    for each in change.written:
        counts[each.row.audited_as()][member[each.action]] += 1
    return {
        "dry_run": dry_run,
        "change_hash": change.hash,
        **{
            name: sum(count[name] for count in counts.values())
            for name in ("created", "changed", "deleted", "unchanged")
        },
        "model_version": change.model_version,
        "kinds": counts,
        "rows": [
            {
                "kind": each.row.audited_as(),
                "name": each.row.name,
                "action": each.action,
                "before": each.before,
                "after": each.after,
            }
            for each in change.written
        ],
    }
