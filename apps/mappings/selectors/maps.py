"""Read one of the maps that a run computed: who receives what, who filters what, which flows
move."""

from collections.abc import Sequence
from typing import Any

from apps.mappings.models import Mapping


class MapOf:
    """One map of a mapping, with the problem that it was computed for."""

    def heat(self, *, rows: int, columns: int) -> dict[str, Any]:
        """Return receivers over groups, both in an order that puts like beside like."""
        raise NotImplementedError

    def receivers(self, order: str, search: str) -> Sequence[dict[str, Any]]:
        """Return what each receiver gets and filters."""
        raise NotImplementedError

    def receiver(self, user: str) -> dict[str, Any]:
        """Return one receiver with what it filters and why. Raises LookupError."""
        raise NotImplementedError

    def moves(self, search: str) -> Sequence[dict[str, Any]]:
        """Return the flows that change their stream or group, get one, or lose it."""
        raise NotImplementedError


def map_of(mapping: Mapping, name: str) -> MapOf:
    """Return the map of this name: `in_force`, a place in the curve, or, empty, the proposed one.
    Raises LookupError."""
    raise NotImplementedError
