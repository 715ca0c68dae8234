"""Make errors that name the member of a request."""

from apps.common.errors import ApplicationError, FieldError


def refused(code: str, field: str, message: str, *, status: int = 422) -> ApplicationError:
    """Return an error about one member of a request."""
    return ApplicationError(
        code,
        f"{field}: {message}" if field else message,
        status=status,
        errors=[FieldError(field=field, message=message)],
    )
