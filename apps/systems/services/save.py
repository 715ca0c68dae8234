"""Write an object with its child rows, and name the field of every error.

The database holds every rule, so it is asked first and once. Only when it refuses does Django check
rule by rule which field is wrong: that takes a query for each rule and each reference.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, transaction

from apps.common.errors import ApplicationError, Conflict, FieldError
from apps.systems.models import Entity

Children = Mapping[str, Sequence[Mapping[str, Any]]]


def _field_of(name: str, error: ValidationError) -> str:
    """Return the wrong field; of a pair that must be unique in its system the one that is not the
    system."""
    if name != NON_FIELD_ERRORS:
        return name
    pair = (error.params or {}).get("unique_check", ())
    return next((part for part in pair if part != "system"), "")


def _field_errors(error: ValidationError) -> list[FieldError]:
    if hasattr(error, "error_dict"):
        return [
            FieldError(field=_field_of(name, single), message=message)
            for name, errors in error.error_dict.items()
            for single in errors
            for message in single.messages
        ]
    return [FieldError(field="", message=message) for message in error.messages]


def refusal(error: ValidationError) -> ApplicationError:
    """Return the error for people: each field with what is wrong with it."""
    errors = _field_errors(error)
    first = errors[0]
    detail = f"{first.field}: {first.message}" if first.field else first.message
    return ApplicationError("invalid", detail, errors=errors)


@contextmanager
def integrity(kind: str, name: str) -> Iterator[None]:
    """Return the name the constraint that the database reports as broken. Raises Conflict."""
    try:
        with transaction.atomic():
            yield
            # Run deferred checks (an overlay must be a tree) now, while their names are still
            # known.
            with transaction.get_connection().cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    except models.ProtectedError:
        # Also an IntegrityError, but Django's own: it knows who still refers to the row.
        raise
    except IntegrityError as error:
        diagnosis = getattr(error.__cause__, "diag", None)
        constraint = getattr(diagnosis, "constraint_name", None) or "integrity"
        message = getattr(diagnosis, "message_primary", None) or str(error)
        raise Conflict(
            "constraint_violated", f"{kind} {name}: {message}", violated_constraint=constraint
        ) from error


def _references(row: models.Model) -> set[str]:
    return {field.name for field in row._meta.concrete_fields if field.is_relation}


def clean(row: models.Model) -> None:
    """Check what needs no query: each value by itself, and the object's own rules. Raises
    ValidationError."""
    row.clean_fields(exclude=_references(row))
    row.clean()


def child_rows(instance: Entity, name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the rows of one child table, ready to be written. Raises ValidationError."""
    related: Any = getattr(type(instance), name)
    model, parent = related.rel.related_model, related.rel.field.name
    made = [model(**{parent: instance}, **row) for row in rows]
    for child in made:
        child.clean_fields(exclude=_references(child))
    return made


def save(instance: Entity, children: Children, *, new: bool = False) -> None:
    """Write the object and replace the child rows that are given.

    Raises ApplicationError naming the fields, or Conflict naming the constraint where only the
    database knows.
    """
    try:
        clean(instance)
        with integrity(str(instance._meta.verbose_name), instance.name):
            instance.save()
            for name, rows in children.items():
                fresh = child_rows(instance, name, rows)
                if not new:
                    getattr(instance, name).all().delete()
                if fresh:
                    type(fresh[0])._default_manager.bulk_create(fresh)
    except (ValidationError, Conflict):
        blame(instance, children)
        raise


def blame(instance: Entity, children: Children) -> None:
    """Raise the error that Django finds, with its field; do nothing where it finds none."""
    try:
        instance.full_clean(validate_unique=True)
    except ValidationError as error:
        problem = refusal(error)
        other = _holder(instance)
        if other is not None and [one.field for one in problem.errors] == ["external_id"]:
            message = f'"{instance.external_id}" is the external id of {other}.'
            problem = ApplicationError.of_field("external_id", message)
        raise problem from error
    for name, rows in children.items():
        _blame_children(instance, name, rows)


def _holder(instance: Entity) -> Entity | None:
    """Return the other object that has the external id of this one."""
    if instance.external_id is None:
        return None
    rows = type(instance)._default_manager.filter(
        system=instance.system, external_id=instance.external_id
    )
    return rows.exclude(pk=instance.pk).first()


def _blame_children(instance: Entity, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    related: Any = getattr(type(instance), name)
    model, parent = related.rel.related_model, related.rel.field.name
    seen: set[tuple[Any, ...]] = set()
    for index, row in enumerate(rows):
        key = tuple(row.get(part) for part in instance.children[name])
        if key in seen:
            what = ", ".join(str(part) for part in key)
            raise ApplicationError.of_field(f"{name}[{index}]", f"{what} is named twice.")
        seen.add(key)
        child = model(**{parent: instance}, **row)
        try:
            child.clean_fields(exclude=[parent])
            child.validate_constraints(exclude=[parent])
        except ValidationError as error:
            first = _field_errors(error)[0]
            field = f"{name}[{index}]" + (f".{first.field}" if first.field else "")
            raise ApplicationError.of_field(field, first.message) from error
