"""Read agents and what they measured."""

from apps.telemetry.selectors.agents import (
    agents_ahead,
    agents_of,
    held_by_removed,
    latest_samples,
    latest_samples_everywhere,
    removed_brokers,
    series,
    systems_ahead,
    systems_without,
)

__all__ = [
    "agents_ahead",
    "agents_of",
    "held_by_removed",
    "latest_samples",
    "latest_samples_everywhere",
    "removed_brokers",
    "series",
    "systems_ahead",
    "systems_without",
]
