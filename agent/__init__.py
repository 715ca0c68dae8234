"""Run one process beside each broker, without Django."""
