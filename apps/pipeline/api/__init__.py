"""Serve sums of records, and how objectives held by them, over the REST API."""
