"""Overlay trees transformed step by step: what actions mean, which may run together, bounds."""
