"""Allocate by simulated annealing (docs/algorithms/annealing.md)."""

from weir.optimizers.annealing.solve import NAME, SUMMARY, TITLE, Params, solve

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "solve"]
