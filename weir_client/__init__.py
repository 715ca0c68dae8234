"""Publish and receive flows that share streams and groups, and follow them while they move."""
