"""Lock a row that somebody edits by its version, and keep the names of rows apart."""

from typing import TypeVar

from django.db.models import Model

from apps.common.errors import Conflict, PreconditionFailed, check_version

M = TypeVar("M", bound=Model)


def lock_version(row: M, expected: int, *, shared: bool = False) -> M:
    """Return the row as it is now, locked until the transaction ends; with `shared`, others may
    refer to it meanwhile. Raises PreconditionFailed where it was deleted, or is not the version
    that the caller has seen."""
    rows = type(row)._default_manager.select_for_update(no_key=shared)
    fresh = rows.filter(pk=row.pk).first()
    if fresh is None:
        raise PreconditionFailed(
            "version_mismatch", f"{row} was deleted meanwhile. Reload the list."
        )
    check_version(fresh, expected)  # type: ignore[arg-type]
    return fresh


def check_name_free(row: Model, **among: object) -> None:
    """Raise Conflict where another row of these (by default all) has the name of `row`."""
    name = getattr(row, "name")  # noqa: B009
    if type(row)._default_manager.filter(name=name, **among).exclude(pk=row.pk).exists():
        message = f'"{name}" is taken; choose another name.'
        raise Conflict.of_field("name", message, code="name_taken", detail=message)
