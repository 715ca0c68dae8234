"""Compute the difference of two allocations: every quantity that moved, the largest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad

KINDS = ("rate", "admitted", "node_price", "link_price")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityChange:
    """Hold one quantity of both allocations; None where one of them does not have it."""

    kind: str
    """The kind: `rate` (msg/s), `admitted`, `node_price` or `link_price` (utility per unit)."""
    name: str
    detail: str = ""
    """The resource of a node's price; the flow of a class."""
    before: float | None
    after: float | None

    @property
    def share(self) -> float:
        """Return the relative change: 1 where it was added or removed."""
        before, after = self.before or 0.0, self.after or 0.0
        largest = max(abs(before), abs(after))
        return abs(after - before) / largest if largest > 0 else 0.0


def allocation_changes(allocation: Allocation, other: Allocation) -> list[QuantityChange]:
    """Return all quantities that differ, by their relative change, then by their absolute
    change."""
    return sorted(_differing(allocation, other), key=_weight)


def _weight(change: QuantityChange) -> tuple[float, float, str, str, str]:
    moved = abs((change.after or 0.0) - (change.before or 0.0))
    return -change.share, -moved, change.kind, change.name, change.detail


def _differing(allocation: Allocation, other: Allocation) -> Iterator[QuantityChange]:
    node, link = {"place": Place.NODE}, {"place": Place.LINK}
    pairs: Sequence[tuple[str, Any, tuple[str, ...], str, dict[str, Place]]] = (
        ("rate", FlowRate, ("flow",), "rate_per_s", {}),
        ("admitted", ClassPopulation, ("consumer_class", "flow"), "admitted", {}),
        ("node_price", ResourceLoad, ("name", "resource"), "price", node),
        ("link_price", ResourceLoad, ("name",), "price", link),
    )
    for kind, model, key, value, which in pairs:
        before = _values(model, other, key, value, which)
        after = _values(model, allocation, key, value, which)
        for names in before.keys() | after.keys():
            old, new = before.get(names), after.get(names)
            if old != new:
                name, detail = (*names, "")[:2]
                yield QuantityChange(kind=kind, name=name, detail=detail, before=old, after=new)


def _values(
    model: Any, of: Allocation, key: tuple[str, ...], value: str, which: dict[str, Place]
) -> dict[tuple[str, ...], float]:
    rows = model.objects.filter(allocation=of, **which).values_list(*key, value)
    return {tuple(row[:-1]): row[-1] for row in rows}
