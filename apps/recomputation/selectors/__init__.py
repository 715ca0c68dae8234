"""Read schedules, triggers and firings."""

from apps.recomputation.selectors.schedules import (
    firing_count_by_rule,
    firing_rows,
    last_firings,
    preview,
    schedule_rows,
    trigger_rows,
)

__all__ = [
    "firing_count_by_rule",
    "firing_rows",
    "last_firings",
    "preview",
    "schedule_rows",
    "trigger_rows",
]
