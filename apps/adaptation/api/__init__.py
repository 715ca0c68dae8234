"""Serve adaptations over the REST API."""
