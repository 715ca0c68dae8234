"""Serve the objects of a system over the API: serializer base, references, viewset base."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from django.db import models
from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import Amount, PublicId, choices, command_list
from apps.common.api.filters import ChangedFilter, Repeated
from apps.common.api.forms import ModelForm
from apps.common.api.preconditions import expected_version, repeatable
from apps.common.api.versioned import VersionedViewSet
from apps.systems.domain.labels import KEY_RULE, MOST_LABELS, Selector, label_problem
from apps.systems.models import LONGEST_EXTERNAL_ID, Entity, Labelled, System
from apps.systems.services import entity_create, entity_delete, entity_update

E = TypeVar("E", bound=Entity)

IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="ETag of what you edit."
)
REASON = OpenApiParameter(
    "reason", str, OpenApiParameter.QUERY, description="Why; kept in the history."
)


@extend_schema_field(OpenApiTypes.UUID)
class Reference(PublicId):
    """Accept another object of the same system by its public id."""

    where = " in this system"

    def __init__(self, model: type[models.Model] | None = None, **kwargs: Any) -> None:
        if model is not None and not kwargs.get("read_only"):
            kwargs["queryset"] = model._default_manager.all()
        super().__init__(**kwargs)

    def get_queryset(self) -> QuerySet[Any]:
        queryset: QuerySet[Any] | None = super().get_queryset()
        assert queryset is not None
        system = self.context.get("system")
        return queryset if system is None else queryset.filter(system=system)

    def to_internal_value(self, data: Any) -> Any:
        directory = self.context.get("directory")
        if directory is not None:
            return directory.find(self, data)
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.UUID)
class SystemReference(PublicId):
    """Accept a system by its public id."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("queryset", System.objects.all())
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        directory = self.context.get("directory")
        return super().to_internal_value(data) if directory is None else directory.owner(data)


OBJECT_COMMANDS = choices("edit", "delete")


def object_commands(request: Request | None) -> list[str]:
    """Return the commands that the caller may give an object of a model now."""
    may = request is not None and Permission.EDIT_MODEL in granted(request)
    return ["edit", "delete"] if may else []


R = TypeVar("R", bound=models.Model)
AMOUNTS = {**serializers.ModelSerializer.serializer_field_mapping, models.FloatField: Amount}


class RowSerializer(ModelForm[R], Generic[R]):
    """Read a row of a child list. Lists are replaced as a whole, so an edit gives whole rows."""

    serializer_field_mapping = AMOUNTS

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        missing = {
            name: [field.error_messages["required"]]
            for name, field in self.fields.items()
            if field.required and not field.read_only and field.source not in values
        }
        if missing:
            raise serializers.ValidationError(missing)
        return values


L = TypeVar("L", bound=Labelled)


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class LabelsField(serializers.DictField):
    """Accept texts by key."""

    def to_internal_value(self, data: Any) -> Any:
        problem = label_problem(data)
        if problem:
            raise serializers.ValidationError(problem)
        return dict(data)


class LabelledSerializer(ModelForm[L], Generic[L]):
    """Serialize what other systems know of an object."""

    external_id = serializers.CharField(
        max_length=LONGEST_EXTERNAL_ID,
        allow_null=True,
        allow_blank=True,
        required=False,
        help_text="Its id in another system; null: it has none. No two systems have the same, and "
        "no two objects of one kind in one system. Plans do not depend on it.",
    )
    labels = LabelsField(
        required=False,
        help_text=f"Texts by key, at most {MOST_LABELS}, replaced as a whole; {KEY_RULE}. Plans do "
        "not depend on them.",
    )

    def validate_external_id(self, value: str | None) -> str | None:
        return value or None


class EntitySerializer(LabelledSerializer[E], Generic[E]):
    """Serialize id, system, name, version, commands and reason of every entity."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = SystemReference(help_text="Cannot be changed later.")
    system_name = serializers.CharField(source="system.name", read_only=True)
    version = serializers.IntegerField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True,
        required=False,
        allow_blank=True,
        max_length=500,
        help_text="Why; kept in the history.",
    )

    serializer_field_mapping = AMOUNTS

    # The view's context is one mutable dict, which also holds what reading computes.
    context: dict[str, Any]

    BASE_FIELDS = (
        "id",
        "system",
        "system_name",
        "name",
        "external_id",
        "labels",
        "version",
        "created_at",
        "updated_at",
        "allowed_commands",
        "reason",
    )

    @extend_schema_field(command_list(OBJECT_COMMANDS))
    def get_allowed_commands(self, instance: E) -> list[str]:
        return object_commands(self.context.get("request"))

    def to_internal_value(self, data: Any) -> Any:
        # References are looked up within the system, so that must be known before the fields run.
        if "directory" in self.context:
            # The rows of an import have one system, which is known.
            pass
        elif self.instance is not None:
            self.context["system"] = self.instance.system
        elif isinstance(data, dict):
            try:
                self.context["system"] = self.fields["system"].to_internal_value(data.get("system"))
            except serializers.ValidationError:
                self.context["system"] = None
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if self.instance is not None and attrs.get("system", self.instance.system) != (
            self.instance.system
        ):
            raise serializers.ValidationError({"system": "An object stays in its system."})
        return attrs

    def run_validators(self, value: Any) -> None:
        # Uniqueness and row constraints are checked once, by the service, under the system's lock.
        return None

    def get_unique_together_validators(self) -> list[Any]:
        return []


@extend_schema_field(
    {
        "type": "array",
        "items": {"type": "string"},
        "description": "`team=port`, or `team` for any value; given several times, all must hold.",
    }
)
class LabelFilter(Repeated):
    """Narrow a list to objects that have all these labels."""

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        """Return the rows that have each of the labels."""
        for text in value:
            try:
                label = Selector.of(text)
            except ValueError as error:
                raise serializers.ValidationError({"label": str(error)}) from error
            qs = qs.filter(**label.lookup(str(self.field_name)))
        return qs


class LabelledFilter(ChangedFilter):
    """Narrow a list by what other systems know of its objects, and to what changed since."""

    external_id = filters.CharFilter(field_name="external_id", label="Exactly this external id.")
    label = LabelFilter(field_name="labels")


class EntityFilter(LabelledFilter):
    """Narrow a list of entities to one system."""

    system = filters.UUIDFilter(field_name="system__public_id")
    name = filters.CharFilter(field_name="name")


def reference_filter(path: str) -> filters.UUIDFilter:
    """Narrow a list to the rows that refer to the object with this public id."""
    return filters.UUIDFilter(field_name=f"{path}__public_id")


class EntityViewSet(VersionedViewSet[E], Generic[E]):
    """List, create, read, change and delete entities; edits need If-Match and EDIT_MODEL."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List all objects of this kind, by page.",
        "retrieve": "Return one object, with its ETag.",
    }
    search_fields = ["name", "external_id"]
    ordering_fields: list[str] = ["name", "updated_at", "created_at"]
    import_prefetch: Sequence[str] = ()
    """What checking a changed object reads, so that it is read for all at once."""
    needs = {
        "create": Permission.EDIT_MODEL,
        "partial_update": Permission.EDIT_MODEL,
        "destroy": Permission.EDIT_MODEL,
    }

    def _model(self) -> type[E]:
        return self.get_queryset().model

    def _split(self, data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
        names = self._model().children
        children = {name: data.pop(name) for name in names if name in data}
        reason = data.pop("reason", "")
        data.pop("system", None)
        return data, children, reason

    def check_delete(self, instance: E) -> None:
        """Refuse to delete an object that has to stay now. Raises ApplicationError."""

    @repeatable()
    def create(self, request: Request) -> Response:
        """Add an object; the system's model version advances."""
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        system = serializer.validated_data["system"]
        values, children, reason = self._split(dict(serializer.validated_data))
        instance = entity_create(
            model=self._model(),
            system=system,
            actor=actor_of(request),
            values=values,
            children=children,
            reason=reason,
        )
        return self._answer(instance, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the fields that are given; lists are replaced as a whole."""
        version = expected_version(request)
        instance = self.get_object()
        serializer = self.get_serializer(instance, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        values, children, reason = self._split(dict(serializer.validated_data))
        changed = entity_update(
            instance=instance,
            actor=actor_of(request),
            expected_version=version,
            values=values,
            children=children,
            reason=reason,
        )
        return self._answer(changed)

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete the object; refused while others refer to it."""
        version = expected_version(request)
        instance = self.get_object()
        self.check_delete(instance)
        entity_delete(
            instance=instance,
            actor=actor_of(request),
            expected_version=version,
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class _Reason(serializers.Serializer[dict[str, str]]):
    reason = serializers.CharField(allow_blank=True, max_length=500)


def reason_of(request: Request) -> str:
    """Return the reason of a deletion from the address."""
    form = _Reason(data={"reason": request.query_params.get("reason", "")})
    form.is_valid(raise_exception=True)
    return str(form.validated_data["reason"])
