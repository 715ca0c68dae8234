"""Policies: what has to happen before a plan may change anything, per system."""
