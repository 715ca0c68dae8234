"""Queueing formulas behind utilities and service levels."""
