"""Compute facts of the records that systems log, and make such records."""
