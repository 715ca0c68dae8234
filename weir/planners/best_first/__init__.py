"""Best-first search over slides, the baseline of the IPITT paper."""

from weir.planners.best_first.plan import NAME, SUMMARY, TITLE, Params, plan

__all__ = ["NAME", "SUMMARY", "TITLE", "Params", "plan"]
