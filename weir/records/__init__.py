"""Seeded logs as busy systems write them: what was published, received, requested and measured.

One file per kind, found by folder. A member defines NAME (its file name), TITLE, TABLES (what its
log has), Shape (a frozen dataclass of its figures) and `slices(shape, *, records, seed)`. Files
whose names begin with an underscore are what the kinds share; docs/formats.md has the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from weir.plugins import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.records.slices import Slice


class Kind(Protocol):
    """What a module of this folder offers."""

    NAME: str
    TITLE: str
    TABLES: tuple[str, ...]
    Shape: type[Any]

    def slices(self, shape: Any, *, records: int, seed: int) -> Iterator[Slice]:
        """Yield the log in order of time, without end.

        Rates are such that about so many records span the natural duration of the kind.
        """
        ...


_REGISTRY: Registry[Kind] = Registry("weir.records", 'no kind "{}" of records', beside=("slices",))
kinds = _REGISTRY.members
kind = _REGISTRY.find
