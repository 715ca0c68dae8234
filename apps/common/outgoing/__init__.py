"""Requests to other servers: addresses that may be reached, dialled as checked, credentials read
where they are named, secrets masked."""
