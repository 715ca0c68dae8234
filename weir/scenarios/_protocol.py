"""What every kind of edit offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weir.model import Problem, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What an edit set, and what one more unit of it is worth."""

    quantity: float | None = None
    """The edited amount in its own unit (capacity, consumers); None where there is none."""
    marginal: float | None = None
    """Utility per unit of `quantity`, from the answer's prices; None without a price."""


class Edit(Protocol):
    """One change of a problem: a frozen dataclass with a KIND."""

    KIND: ClassVar[str]
    NUMBERS: ClassVar[tuple[str, ...]]
    """Keys of the plain form that a sweep may vary over numbers."""
    NAMES: ClassVar[tuple[str, ...]]
    """Keys that a sweep may vary over ids."""

    @classmethod
    def read(cls, obj: dict[str, Any], path: str) -> Edit:
        """From the plain form; InvalidProblem names the field."""
        ...

    def plain(self) -> dict[str, Any]:
        """The form that `read` takes, without the kind."""
        ...

    def refers_to(self) -> Iterator[tuple[str, str, str]]:
        """Field, kind of thing (node, link, flow, class, resource) and id of every reference."""
        ...

    def apply(self, problem: Problem) -> Problem:
        """The edited problem; every reference has been checked before."""
        ...

    def measure(self, problem: Problem, result: Result) -> Measure:
        """What this edit set, read from the edited problem and its answer."""
        ...
