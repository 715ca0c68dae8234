"""Define the errors that services raise; one handler turns them into problem documents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from weir.errors import InvalidProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """Describe what is wrong with one field: `field` is a dotted path such as
    `node_costs[2].cost`; `line` is where it stands in a table that was sent as text."""

    field: str
    message: str
    line: int | None = None


class ApplicationError(Exception):
    """Signal an expected refusal. `code` is stable, `message` names the object and the next
    step."""

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

    @classmethod
    def of_field(
        cls,
        field: str,
        message: str,
        *,
        code: str = "invalid",
        status: int | None = None,
        detail: str = "",
    ) -> Self:
        """Return the refusal of one field; `detail` is said instead of `field: message`."""
        return cls(
            code,
            detail or (f"{field}: {message}" if field else message),
            status=status,
            errors=[FieldError(field=field, message=message)],
        )

    @classmethod
    def of_problem(cls, error: InvalidProblem, *, code: str = "invalid_problem") -> Self:
        """Return the refusal of data that the kernel refuses, with the kernel's field."""
        return cls.of_field(error.path, error.message, code=code, status=422)


class Conflict(ApplicationError):
    """Signal that the object's state does not allow a valid request now."""

    status = 409


class PreconditionFailed(ApplicationError):
    """Signal that the caller edits a version that is no longer the latest."""

    status = 412


class PreconditionRequired(ApplicationError):
    """Signal that the caller must name the version that it edits."""

    status = 428


class Versioned(Protocol):
    """Describe a row that counts its edits."""

    @property
    def version(self) -> int:
        """Return the version, which each edit raises by one."""
        ...


def check_version(row: Versioned, expected: int, name: str = "") -> None:
    """Raise PreconditionFailed unless the row is the version that the caller has seen.

    `name`: how a sentence about the row begins, where its own name does not do.
    """
    if row.version != expected:
        raise PreconditionFailed(
            "version_mismatch",
            f"{name or row} was changed meanwhile: you edit version {expected}, "
            f"the latest is {row.version}. Reload and apply your change again.",
        )
