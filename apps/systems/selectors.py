"""What an object of a system looks like, as plain data, for history and snapshots."""

from typing import Any

from django.db import models

from apps.systems.models import Entity

HIDDEN = {"id", "public_id", "created_at", "updated_at", "version", "system"}


def _value(instance: models.Model, field: "models.Field[Any, Any]") -> Any:
    value = getattr(instance, field.name)
    # People read names; a key would say nothing once the row it points to is gone.
    return str(value) if isinstance(value, models.Model) else value


def entity_state(instance: Entity) -> dict[str, Any]:
    """Every editable column and child row, references by name."""
    state = {
        field.name: _value(instance, field)
        for field in instance._meta.concrete_fields
        if field.name not in HIDDEN
    }
    for name in instance.children:
        related: Any = getattr(instance, name)
        parent = related.field.name
        references = [
            field.name
            for field in related.model._meta.concrete_fields
            if field.is_relation and field.name != parent
        ]
        rows = related.select_related(*references) if references else related.all()
        state[name] = [
            {
                field.name: _value(row, field)
                for field in row._meta.concrete_fields
                if field.name not in ("id", parent)
            }
            for row in rows
        ]
    return state
