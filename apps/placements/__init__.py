"""Placements: which broker serves which publisher of a topic whose rate limit is split."""
