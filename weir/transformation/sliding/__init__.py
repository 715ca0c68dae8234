"""The engine of Weir's own edge-slide planner (docs/algorithms/edge-slides.md)."""
