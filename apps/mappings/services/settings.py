"""Create and change a system's mapping settings; each change is audited."""

from typing import Any

from apps.mappings.models import MappingSettings


def settings_update(*, settings: MappingSettings, **change: Any) -> MappingSettings:
    """Change the given members. Raises PreconditionFailed, or ApplicationError naming the field."""
    raise NotImplementedError
