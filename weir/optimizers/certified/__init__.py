"""Certified: near the optimum, with a proven upper bound (docs/algorithms/certified.md)."""

from weir.optimizers.certified.solve import NAME, SUMMARY, TITLE, Params, solve

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "solve"]
