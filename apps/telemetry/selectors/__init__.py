"""Reads of agents and of what they measured."""

from apps.telemetry.selectors.agents import (
    agents_ahead,
    agents_of,
    held_by_removed,
    latest_samples,
    latest_samples_everywhere,
    live_agents,
    removed_brokers,
    series,
    systems_without,
)

__all__ = [
    "agents_ahead",
    "agents_of",
    "held_by_removed",
    "latest_samples",
    "latest_samples_everywhere",
    "live_agents",
    "removed_brokers",
    "series",
    "systems_without",
]
