"""Provide what every app needs: base model, errors, pagination, tasks by name, live events."""
