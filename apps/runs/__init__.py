"""Snapshots and the life of a run, blind to its purpose; gateway.py is the door to Spark."""
