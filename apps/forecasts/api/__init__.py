"""Serve forecasts of demand over the REST API."""
