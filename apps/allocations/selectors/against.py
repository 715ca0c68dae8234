"""An allocation against the one in force: what moved, and what in the model made it move."""

from collections import Counter
from typing import Any

from apps.allocations.domain.causes import model_changes
from apps.allocations.models import Allocation
from apps.allocations.selectors import allocation_comparison, previous_allocation
from apps.allocations.selectors.changes import KINDS, QuantityChange, allocation_changes
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.allocations.selectors.snapshots import snapshot_plain

MOST_CAUSES = 100
MOST_CHANGES = 500


def allocation_in_force(allocation: Allocation) -> Allocation | None:
    """The allocation of the same system whose plan was carried out last."""
    plan = latest_plan(allocation.system) if allocation.system else None
    return latest_allocation(plan) if plan else None


def allocation_against(
    allocation: Allocation, other: Allocation, in_force: Allocation | None
) -> dict[str, Any]:
    """Former and new values, what moved most, and the differences of the two models.

    At most the first causes and the largest changes; how many there are in all is told.
    """
    causes, known = _causes(allocation, other)
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
    }


def _counts(changes: list[QuantityChange]) -> dict[str, int]:
    found = Counter(change.kind for change in changes)
    return {kind: found[kind] for kind in KINDS}


def usual_other(allocation: Allocation, in_force: Allocation | None) -> Allocation | None:
    """What one compares with first: what is in force, else the one before."""
    if in_force is not None and in_force.pk != allocation.pk:
        return in_force
    return previous_allocation(allocation)


def _causes(allocation: Allocation, other: Allocation) -> tuple[list[Any], bool]:
    if allocation.run.snapshot.content_hash == other.run.snapshot.content_hash:
        return [], True
    before, after = snapshot_plain(other.run), snapshot_plain(allocation.run)
    if before is None or after is None:
        return [], False
    return model_changes(before, after), True
