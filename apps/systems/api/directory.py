"""Find what the rows of an import refer to, by name, in one query for each kind."""

from collections.abc import Collection, Sequence
from typing import Any

from rest_framework import serializers

from apps.common.api.fields import SHOWN
from apps.systems.models import Entity, System


class Directory:
    """Find objects of one system by name, else by public id; names of fields in `create_missing`
    make an object that is not there."""

    def __init__(
        self, system: System, *, create_missing: Collection[str] = (), allowed: Collection[str] = ()
    ) -> None:
        self.system = system
        self._create_missing = create_missing
        self._allowed = allowed
        self._by_name: dict[type[Entity], dict[str, Entity]] = {}
        self._by_id: dict[type[Entity], dict[str, Entity]] = {}
        self._missing: list[Entity] = []

    def owner(self, data: Any) -> System:
        """Return the system of the rows. Raises ValidationError where a row names another."""
        if str(data) != str(self.system.public_id):
            raise serializers.ValidationError(
                f"The rows are imported into {self.system}; leave this out."
            )
        return self.system

    def find(self, field: serializers.Field[Any, Any, Any, Any], data: Any) -> Entity:
        """Return the object that a reference means. Raises ValidationError."""
        # Not `get_queryset`, which would make a query for each row.
        model: type[Entity] = field.queryset.model  # type: ignore[attr-defined]
        if model not in self._by_name:
            self._load(model)
        if isinstance(data, str):
            known = self._by_name[model].get(data) or self._by_id[model].get(data.lower())
            if known is not None:
                return known
        kind, name = model._meta.verbose_name, str(data)[:SHOWN]
        at_top = field.parent is field.root and isinstance(data, str) and data.strip()
        if at_top and field.field_name in self._create_missing:
            return self._make(model, str(data))
        more = ""
        if at_top and field.field_name in self._allowed:
            more = f" Add it first, or import with `create_missing={field.field_name}`."
        raise serializers.ValidationError(f'There is no {kind} "{name}" in this system.{more}')

    def missing(self) -> Sequence[Entity]:
        """Return the objects that references made, in the order of the rows."""
        return self._missing

    def _load(self, model: type[Entity]) -> None:
        rows = list(model._default_manager.filter(system=self.system).order_by())
        self._by_name[model] = {row.name: row for row in rows}
        self._by_id[model] = {str(row.public_id): row for row in rows}

    def _make(self, model: type[Entity], name: str) -> Entity:
        made = model(system=self.system, name=name)
        self._by_name[model][name] = made
        self._missing.append(made)
        return made
