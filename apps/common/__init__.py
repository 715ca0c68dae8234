"""What every app stands on: base model, errors, pagination, tasks by name, live events."""
