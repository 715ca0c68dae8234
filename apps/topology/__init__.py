"""Manage brokers, links, overlays and goal topologies."""
