"""Serve demand over the REST API: what is wanted, estimates of it, and how they are used."""
