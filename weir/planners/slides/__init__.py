"""Weir's own planner of edge slides (docs/algorithms/edge-slides.md)."""

from weir.planners.slides.plan import NAME, SUMMARY, TITLE, Params, plan

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]
