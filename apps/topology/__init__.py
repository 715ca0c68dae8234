"""Brokers, links, overlays and goal topologies."""
