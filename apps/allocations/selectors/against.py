"""Compare an allocation with the one in force: what moved, and which changes of the model caused
it."""

from collections import Counter
from typing import Any

from apps.allocations.domain.causes import model_changes
from apps.allocations.domain.worth import Functions, functions_of, worth
from apps.allocations.models import Allocation
from apps.allocations.selectors import allocation_comparison, previous_allocation
from apps.allocations.selectors.changes import KINDS, QuantityChange, allocation_changes
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.allocations.selectors.snapshots import snapshot_plain

MOST_CAUSES = 100
MOST_CHANGES = 500

Plains = tuple[dict[str, Any], dict[str, Any]] | tuple[()]


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
