"""Read allocations: comparison, and the state of every system at a glance."""

from apps.allocations.selectors.allocations import (
    allocation_comparison,
    previous_allocation,
)

__all__ = ["allocation_comparison", "previous_allocation"]
