"""Edit schedules and triggers, fire them, and see every firing through to its end."""

from apps.recomputation.services.automatic import decisions_advance
from apps.recomputation.services.edit import (
    rule_delete,
    schedule_create,
    schedule_update,
    trigger_create,
    trigger_update,
)
from apps.recomputation.services.evaluate_triggers import triggers_evaluate
from apps.recomputation.services.fire import schedule_due, schedule_run, schedules_catch_up
from apps.recomputation.services.settle import (
    firings_settle,
    firings_start,
    recomputation_tick,
)

__all__ = [
    "decisions_advance",
    "firings_settle",
    "firings_start",
    "recomputation_tick",
    "rule_delete",
    "schedule_create",
    "schedule_due",
    "schedule_run",
    "schedule_update",
    "schedules_catch_up",
    "trigger_create",
    "trigger_update",
    "triggers_evaluate",
]
