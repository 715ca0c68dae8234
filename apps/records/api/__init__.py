"""Serve records: take them in batches, show what was set aside, and have it taken after all."""
