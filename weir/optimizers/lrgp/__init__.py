"""LRGP of Lumezanu, Bhola and Astley (docs/algorithms/lrgp.md)."""

from weir.optimizers.lrgp.solve import NAME, SUMMARY, TITLE, Params, solve

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "solve"]
