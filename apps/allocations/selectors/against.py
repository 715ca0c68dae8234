"""Compare an allocation with the one in force: what moved, and which changes of the model caused
it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.allocations.domain.causes import model_changes
from apps.allocations.domain.worth import Functions, functions_of, worth
from apps.allocations.models import Allocation, ClassPopulation, FlowRate, Place, ResourceLoad
from apps.allocations.selectors import allocation_comparison, previous_allocation
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.allocations.selectors.problems import snapshot_plain

KINDS = ("rate", "admitted", "node_price", "link_price")
MOST_CAUSES = 100
MOST_CHANGES = 500

Plains = tuple[dict[str, Any], dict[str, Any]] | tuple[()]


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


def allocation_in_force(allocation: Allocation) -> Allocation | None:
    """Return the allocation of the same system whose plan was carried out last."""
    plan = latest_plan(allocation.system) if allocation.system else None
    return latest_allocation(plan) if plan else None


def allocation_against(
    allocation: Allocation, other: Allocation, in_force: Allocation | None
) -> dict[str, Any]:
    """Return former and new values, what moved most, and the differences of the two models.

    It lists only the first causes and the largest changes, and counts all of them.
    """
    plains = _plains(allocation, other)
    causes, known = _causes(plains)
    changes = allocation_changes(allocation, other)
    return {
        "other": other.public_id,
        "other_number": other.number,
        "other_model_version": other.run.snapshot.model_version,
        "other_method": other.method,
        "other_in_force": in_force is not None and in_force.pk == other.pk,
        "causes": causes[:MOST_CAUSES],
        "causes_in_all": len(causes),
        "causes_known": known,
        "changes": changes[:MOST_CHANGES],
        "changes_in_all": _counts(changes),
        **allocation_comparison(allocation, other),
        **_utilities(allocation, other, plains),
    }


def _utilities(allocation: Allocation, other: Allocation, plains: Plains | None) -> dict[str, Any]:
    """Return the value both allocations by this one's utility functions, and by the other's where
    they differ.

    None where the two differ and are too large to say: totals by different functions would only
    look like a comparison.
    """
    stored = _pair(other.utility, allocation.utility)
    if plains is None:
        return {"utility": _pair(None, allocation.utility), "utility_by_other": None}
    before, after = (functions_of(plain) for plain in plains) if plains else ({}, {})
    if before == after:
        return {"utility": stored, "utility_by_other": None}
    return {
        "utility": _pair(_worth(other, after), allocation.utility),
        "utility_by_other": _pair(other.utility, _worth(allocation, before)),
    }


def _pair(before: float | None, after: float | None) -> dict[str, Any]:
    return {"name": "utility", "before": before, "after": after}


def _worth(allocation: Allocation, functions: Functions) -> float:
    return worth(
        functions,
        dict(allocation.rates.values_list("flow", "rate_per_s")),
        dict(allocation.populations.values_list("consumer_class", "admitted")),
    )


def _counts(changes: list[QuantityChange]) -> dict[str, int]:
    counts = Counter(change.kind for change in changes)
    return {kind: counts[kind] for kind in KINDS}


def usual_other(allocation: Allocation, in_force: Allocation | None) -> Allocation | None:
    """Return the allocation to compare with by default: the one in force, else the previous one."""
    if in_force is not None and in_force.pk != allocation.pk:
        return in_force
    return previous_allocation(allocation)


def _plains(allocation: Allocation, other: Allocation) -> Plains | None:
    """Return the two models, the other's first; empty where both are one; None when too large to
    read."""
    if allocation.run.snapshot.content_hash == other.run.snapshot.content_hash:
        return ()
    before, after = snapshot_plain(other.run), snapshot_plain(allocation.run)
    return None if before is None or after is None else (before, after)


def _causes(plains: Plains | None) -> tuple[list[Any], bool]:
    if plains is None:
        return [], False
    return (model_changes(*plains) if plains else []), True


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
