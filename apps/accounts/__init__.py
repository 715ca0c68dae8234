"""People, roles and API tokens."""
