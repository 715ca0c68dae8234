"""Mappings: which stream carries which flow, and which group carries which stream."""
