"""Contain the Django side of Weir; `.importlinter` gives the storeys, top to bottom."""
