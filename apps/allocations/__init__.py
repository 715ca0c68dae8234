"""Optimize rates and admitted consumers: ask for a run, keep its result, compare results."""
