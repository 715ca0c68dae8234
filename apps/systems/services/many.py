"""Create many objects of a system at once, in a handful of statements."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts.models import User
from apps.audit.services import record_all
from apps.common.errors import Conflict
from apps.systems.models import Entity, System
from apps.systems.selectors import (
    entity_state,
    in_order_of_use,
    with_children,
    with_references,
)
from apps.systems.services.edit import advance, entry_of, lock, one_edit
from apps.systems.services.entities import entity_create
from apps.systems.services.save import Children, child_rows, clean, integrity

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """Hold an object that is not in the database yet, with the rows of its child tables."""

    instance: Entity
    children: Children


@dataclass(slots=True)
class Drafts:
    """Collect objects of one system to create together; a later one may refer to an earlier one."""

    system: System
    rows: list[_Draft] = field(default_factory=list)

    def add(self, model: type[E], children: Children | None = None, **values: Any) -> E:
        """Add an object and return it; it has no key before `entities_create`."""
        instance = model(system=self.system, **values)
        self.rows.append(_Draft(instance=instance, children=children or {}))
        return instance


@transaction.atomic
def entities_create(*, drafts: Drafts, actor: User | None, reason: str = "") -> None:
    """Add all of them as one edit, with the rows, versions and entries that `entity_create` makes
    in the same order. Raises its ApplicationError for the first that is refused; then nothing is
    created."""
    locked = lock(drafts.system)
    try:
        with integrity("system", drafts.system.name):
            for group in _by_model(drafts):
                _insert(group)
    except (ValidationError, Conflict):
        # Create them one by one, so that the error names the wrong one.
        with one_edit():
            for draft in drafts.rows:
                _create_alone(draft, actor, reason)
        return
    advance(locked)
    states = {
        (type(fresh), fresh.pk): (fresh, entity_state(fresh))
        for group in _by_model(drafts)
        for fresh in _stored(group)
    }
    created = [states[type(draft.instance), draft.instance.pk] for draft in drafts.rows]
    record_all(
        [entry_of("create", fresh, locked, actor, reason, after=state) for fresh, state in created]
    )


def _by_model(drafts: Drafts) -> Iterator[list[_Draft]]:
    """Return the drafts of each model, referred models before those that refer to them."""
    groups: dict[type[Entity], list[_Draft]] = {}
    for draft in drafts.rows:
        groups.setdefault(type(draft.instance), []).append(draft)
    for model in in_order_of_use(groups):
        yield groups[model]


def _insert(group: list[_Draft]) -> None:
    for draft in group:
        clean(draft.instance)
    model = type(group[0].instance)
    model._default_manager.bulk_create([draft.instance for draft in group])
    for name in model.children:
        rows = [child_rows(draft.instance, name, draft.children.get(name, ())) for draft in group]
        fresh = list(chain.from_iterable(rows))
        if fresh:
            type(fresh[0])._default_manager.bulk_create(fresh)


def _stored(group: list[_Draft]) -> list[Entity]:
    """Return the objects as the database has them, with what `entity_state` reads."""
    model = type(group[0].instance)
    rows = model._default_manager.filter(pk__in=[draft.instance.pk for draft in group])
    return list(with_children(with_references(rows)))


def _create_alone(draft: _Draft, actor: User | None, reason: str) -> None:
    instance = draft.instance
    made = entity_create(
        model=type(instance),
        system=instance.system,
        actor=actor,
        values={
            f.name: getattr(instance, f.name)
            for f in instance._meta.concrete_fields
            if f.name not in ("id", "system", "created_at", "updated_at")
        },
        children=draft.children,
        reason=reason,
    )
    # Later drafts refer to this very object.
    instance.pk = made.pk
    instance._state.adding = False
