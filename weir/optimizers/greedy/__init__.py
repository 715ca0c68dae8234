"""Allocate by Gryphon's greedy algorithm (docs/algorithms/greedy.md)."""

from weir.optimizers.greedy.solve import NAME, SUMMARY, TITLE, Params, solve

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "solve"]
