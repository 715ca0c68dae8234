"""Manage messaging systems, the version of their model, and all edits of what belongs to them."""
