"""Read the mapping problem of a system from the catalogue."""

from typing import Any

from apps.systems.models import System
from weir.model.mapping import MappingProblem


def mapping_problem(system: System) -> MappingProblem:
    """Return the problem of this system as it is now. Raises ApplicationError naming what does not
    fit and what to do.

    Read under the system's row lock, so that all is one version.
    """
    raise NotImplementedError


def mappable(system: System) -> dict[str, Any]:
    """Return how much there is to map, and why it cannot be."""
    raise NotImplementedError
