"""Read demand: what was measured of it, and what snapshots use."""
