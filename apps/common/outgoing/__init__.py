"""Requests to other servers: addresses that may be reached, dialled as checked, secrets masked."""
