"""Create and change a system's mapping settings; each change is audited."""

from collections.abc import Mapping
from typing import Any

from apps.common.errors import ApplicationError
from apps.mappings.models import MappingSettings
from apps.systems.services import row_update
from weir.errors import InvalidProblem
from weir.reading import amount


def settings_update(
    *, settings: MappingSettings, values: Mapping[str, Any], **change: Any
) -> MappingSettings:
    """Change the given members, as `row_update` does. Raises PreconditionFailed, or
    ApplicationError naming the field.

    The model's version stays: who wants what does not change with what it costs.
    """
    for name, value in values.items():
        try:
            amount(value, name)
        except InvalidProblem as error:
            # What a problem cannot hold would be refused only once a run has begun.
            raise ApplicationError.of_field(name, error.message) from error
    return row_update(settings=settings, topic="mapping", values=values, **change)
