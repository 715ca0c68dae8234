"""Contain one driver per broker product; each imports its own client library and no other."""
