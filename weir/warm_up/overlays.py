"""Compiles the kernels of topologies and planners; they share some, so one process does it."""

from __future__ import annotations

from weir.warm_up import slides, steps, topologies


def warm_up() -> None:
    """Warm up the topologies, the slides planner and the steps in turn."""
    topologies.warm_up()
    slides.warm_up()
    steps.warm_up()
