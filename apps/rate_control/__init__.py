"""Move rates between two allocations, within a band that a policy allows, and show them."""
