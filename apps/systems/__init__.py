"""Managed messaging systems, their model version, and the one way to edit what belongs to them."""
