"""Manage topics, publishers, consumer classes, utility functions, SLOs, streams, groups,
interests."""
