"""Search with a proof, for small overlays (docs/algorithms/transformation.md)."""

from weir.planners.exact.plan import NAME, SUMMARY, TITLE, Params, plan

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]
