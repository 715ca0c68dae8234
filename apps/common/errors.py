"""What services raise when they cannot do as asked; one handler makes problem documents of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One thing wrong with one field: `field` is a dotted path such as `node_costs[2].cost`."""

    field: str
    message: str


class ApplicationError(Exception):
    """An expected refusal. `code` is stable, `message` names the thing and the next move."""

    status = 400

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        errors: Sequence[FieldError] = (),
        violated_constraint: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.errors = tuple(errors)
        self.violated_constraint = violated_constraint
        self.extra = extra or {}
        if status is not None:
            self.status = status


class Conflict(ApplicationError):
    """The request is sound but the state of the object does not allow it now."""

    status = 409


class PreconditionFailed(ApplicationError):
    """The caller edits a version that is no longer the latest."""

    status = 412


class PreconditionRequired(ApplicationError):
    """The caller must say which version it edits."""

    status = 428
