"""Manage people, roles and API tokens."""
