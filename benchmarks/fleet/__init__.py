"""Real brokers and agents around a small control plane, for measurements of the data plane.

The control plane keeps everything in memory and decides by the production coordinator: what is
measured is the agents, so nothing of Django runs beside them.
"""
