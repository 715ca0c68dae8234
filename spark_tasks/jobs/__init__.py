"""Contain one job per shape; the algorithm is a parameter."""
