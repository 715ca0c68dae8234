"""Describe objects of a system as plain data, for history and snapshots."""

from collections.abc import Collection
from graphlib import TopologicalSorter
from typing import Any, TypeVar

from django.apps import apps
from django.db import models

from apps.systems.models import Entity, System

E = TypeVar("E", bound=Entity)
HIDDEN = {"id", "public_id", "created_at", "updated_at", "version", "system"}


OUTSIDE_MODEL = frozenset({"external_id", "labels"})
"""Members by which others know an object; no computation depends on them."""

SYSTEM = "system"
"""The kind of object under which the audit record has edits of a system itself."""
PROPERTIES = ("name", "external_id", "labels", "description", "product", "resources")
"""What editors say of a system itself."""


def properties_of(system: System) -> dict[str, Any]:
    """Return what editors say of the system itself."""
    return {name: getattr(system, name) for name in PROPERTIES}


def entity_models() -> list[type[Entity]]:
    """Return every kind of object that a system's model is made of."""
    return [model for model in apps.get_models() if issubclass(model, Entity)]


def kinds_of_the_model() -> frozenset[str]:
    """Return the kinds of object whose edits, and no other's, advance the version of the model
    (except edits of `OUTSIDE_MODEL` alone)."""
    return frozenset({SYSTEM, *(model.audited_as() for model in entity_models())})


def used_by(model: type[Entity]) -> set[Any]:
    """Return the models to which its rows and its child rows refer."""
    children = [getattr(model, name).rel.related_model for name in model.children]
    return {f.related_model for each in (model, *children) for f in each._meta.concrete_fields}


def in_order_of_use(models: Collection[type[Entity]]) -> list[type[Entity]]:
    """Return the models, each after those to which it refers, in the same order each time."""
    every = sorted(entity_models(), key=lambda model: model.audited_as())
    needs = {model: [each for each in every if each in used_by(model) - {model}] for model in every}
    return [model for model in TopologicalSorter(needs).static_order() if model in models]


def _value(instance: models.Model, field: "models.Field[Any, Any]") -> Any:
    value = getattr(instance, field.name)
    # People read names; a key means nothing once the row it points to is gone.
    return str(value) if isinstance(value, models.Model) else value


def _references(model: type[models.Model], hidden: set[str]) -> list[str]:
    return [f.name for f in model._meta.concrete_fields if f.is_relation and f.name not in hidden]


def _child_rows(model: type[Entity], name: str) -> "models.QuerySet[Any]":
    """Return all rows of a child table, with what they refer to."""
    related: Any = getattr(model, name).rel
    references = _references(related.related_model, {related.field.name})
    rows: models.QuerySet[Any] = related.related_model._default_manager.all()
    return rows.select_related(*references) if references else rows


def with_references(rows: "models.QuerySet[E]") -> "models.QuerySet[E]":
    """Return the objects with what they refer to, in one query."""
    references = _references(rows.model, HIDDEN)
    return rows.select_related(*references) if references else rows


def with_children(
    rows: "models.QuerySet[E]", lists: Collection[str] | None = None
) -> "models.QuerySet[E]":
    """Return the objects with their child rows, in one more query for each child table; `lists`:
    of these alone."""
    model = rows.model
    names = model.children if lists is None else lists
    return rows.prefetch_related(
        *(models.Prefetch(name, queryset=_child_rows(model, name)) for name in names)
    )


def child_state(row: models.Model, parent: str) -> dict[str, Any]:
    """Return every column of a child row but its parent, with references by name."""
    return {
        field.name: _value(row, field)
        for field in row._meta.concrete_fields
        if field.name not in ("id", parent)
    }


def entity_state(instance: Entity, lists: Collection[str] | None = None) -> dict[str, Any]:
    """Return every editable column and child row, with references by name; `lists`: of the child
    tables these alone."""
    state = {
        field.name: _value(instance, field)
        for field in instance._meta.concrete_fields
        if field.name not in HIDDEN
    }
    fetched = getattr(instance, "_prefetched_objects_cache", {})
    for name in instance.children if lists is None else lists:
        related: Any = getattr(instance, name)
        parent = related.field.name
        rows = (
            related.all()
            if name in fetched
            else _child_rows(type(instance), name).filter(**{parent: instance})
        )
        state[name] = [child_state(row, parent) for row in rows]
    return state
