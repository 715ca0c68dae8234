"""Serve how objectives held over the REST API."""
