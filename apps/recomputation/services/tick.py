"""Run one tick of recomputation, which the coordinator calls repeatedly."""

from apps.recomputation.services.evaluate_triggers import triggers_evaluate
from apps.recomputation.services.fire import schedules_catch_up
from apps.recomputation.services.settle import firings_settle, firings_start


def recomputation_tick() -> int:
    """Fire triggers and missed schedules, settle what ended, and start what waits.

    Any number of processes may call it at once.
    """
    return schedules_catch_up() + triggers_evaluate() + firings_settle() + firings_start()
