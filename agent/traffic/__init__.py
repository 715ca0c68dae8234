"""Publishers and consumers for a demo or a trial: `python -m agent.traffic`."""
