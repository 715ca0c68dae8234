"""Read the map that is in force now: which stream each topic is in, and what that costs."""

from typing import Any

from apps.systems.models import System


def map_in_force(system: System) -> dict[str, Any]:
    """Return what the map that is in force now costs, at the rates and weights of now."""
    raise NotImplementedError
