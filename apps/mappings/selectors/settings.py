"""Read what receiving and moving costs in a system."""

from apps.mappings.models import MappingSettings
from apps.systems.models import System


def settings_of(system: System) -> MappingSettings:
    """Return the system's settings; unsaved defaults where nobody has set any."""
    row = MappingSettings.objects.select_related("system").filter(system=system).first()
    # Nobody needs a row before somebody edits one; until then its id is the system's.
    return row or MappingSettings(
        system=system, public_id=system.public_id, updated_at=system.created_at
    )
