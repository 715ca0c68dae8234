"""The agent: one process beside each broker, without Django."""
