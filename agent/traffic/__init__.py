"""Generate the traffic of a demo or a trial with real clients: `python -m agent.traffic`."""
