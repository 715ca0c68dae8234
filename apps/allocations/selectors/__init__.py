"""Reads of allocations: comparison, and the state of every system at a glance."""

from apps.allocations.selectors.allocations import (
    allocation_comparison,
    previous_allocation,
    systems_overview,
)

__all__ = ["allocation_comparison", "previous_allocation", "systems_overview"]
