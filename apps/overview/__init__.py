"""Show every system at a glance."""
