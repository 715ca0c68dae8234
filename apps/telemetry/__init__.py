"""Manage agents and what they report: credentials, leases, observed state, measured rates."""
