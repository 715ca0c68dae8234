"""Show rows by the members that a write of them takes, and read those of a system itself and of its
settings from a document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from django.db.models import Model
from rest_framework import serializers

from apps.common.api.problems import flatten
from apps.common.errors import ApplicationError, FieldError
from apps.systems.api.entities import Reference
from apps.systems.api.settings import SettingsViewSet
from apps.systems.api.views import SystemSerializer
from apps.systems.models import System
from apps.systems.selectors import PROPERTIES
from apps.systems.services import Given, GivenProperties, GivenSettings

LEFT_OUT = frozenset({"interests"})
"""Lists that a document does not show: interests may be millions, and have tables of their own."""


class SystemPropertiesSerializer(SystemSerializer):
    """Describe what editors say of a system itself."""

    class Meta(SystemSerializer.Meta):
        fields = [*PROPERTIES]
        read_only_fields: list[str] = []


@cache
def settings_views() -> Mapping[str, type[SettingsViewSet[Any]]]:
    """Return what serves each of the settings that a document holds, by member."""
    views = {view.document_member: view for view in _below(SettingsViewSet) if view.document_member}
    return dict(sorted(views.items()))


def _below(base: type[SettingsViewSet[Any]]) -> Iterator[type[SettingsViewSet[Any]]]:
    for view in base.__subclasses__():
        yield view
        yield from _below(view)


def members_of_settings(system: System) -> dict[str, Any]:
    """Return the settings of a system as a document has them."""
    return {
        name: members(view.settings_of(system), writable(_form_of(view)))
        for name, view in settings_views().items()
    }


def given_properties(sent: Mapping[str, Any] | None) -> GivenProperties | None:
    """Return how the properties of a document are read; None where it has none."""
    if sent is None:
        return None

    def read(stored: System | None) -> dict[str, Any]:
        form = SystemPropertiesSerializer(stored, data=sent, partial=stored is not None)
        return _read(form, sent)

    return GivenProperties(given=Given(name="", members=sent, path="properties"), read=read)


def given_settings(sent: Mapping[str, Mapping[str, Any]]) -> list[GivenSettings]:
    """Return how each of the settings of a document is read and written."""
    return [
        GivenSettings(
            given=Given(name="", members=sent[name], path=f"settings.{name}"),
            current=view.settings_of,
            read=partial(_read_settings, view, sent[name]),
            update=view.settings_update,
        )
        for name, view in settings_views().items()
        if name in sent
    ]


def _read_settings(
    view: type[SettingsViewSet[Any]], sent: Mapping[str, Any], row: Any
) -> dict[str, Any]:
    return _read(_form_of(view, row, data=sent, partial=True), sent)


def _form_of(view: type[SettingsViewSet[Any]], *args: Any, **kwargs: Any) -> Any:
    assert view.serializer_class is not None
    return view.serializer_class(*args, **kwargs)


def _read(form: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a serializer. Raises ApplicationError that names members."""
    try:
        if "reason" in data:
            message = "Give one reason for the whole document, beside its members."
            raise serializers.ValidationError({"reason": message})
        return dict(form.run_validation(data))
    except serializers.ValidationError as error:
        raise ApplicationError(
            "invalid",
            "not valid",
            errors=[
                FieldError(field=one["field"], message=one["message"])
                for one in flatten(error.detail)
            ],
        ) from error


def writable(form: Any) -> list[Any]:
    """Return the fields of a serializer that it both shows and takes."""
    return [
        field
        for name, field in form.fields.items()
        if not field.read_only and not field.write_only and name not in ("system", *LEFT_OUT)
    ]


def members(row: Model, fields: Iterable[Any]) -> dict[str, Any]:
    """Return an object, or a row of its lists, with references by name."""
    return {field.field_name: _member(getattr(row, field.source), field) for field in fields}


def _member(value: Any, field: Any) -> Any:
    if isinstance(field, serializers.ListSerializer):
        inner = writable(field.child)
        # Their order says nothing, and the database promises none: the same model reads the same.
        return sorted((members(child, inner) for child in value.all()), key=json.dumps)
    if value is None:
        return None
    return value.name if isinstance(field, Reference) else field.to_representation(value)
