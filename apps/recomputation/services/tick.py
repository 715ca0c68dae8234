"""What the coordinator calls again and again."""

from apps.recomputation.services.fire import schedules_catch_up
from apps.recomputation.services.follow import firings_settle, firings_start
from apps.recomputation.services.look_at_triggers import triggers_look


def recomputation_tick() -> int:
    """Fire what triggers see and what beat missed; settle what ended; start what waits.

    Any number of processes may call it at once.
    """
    return schedules_catch_up() + triggers_look() + firings_settle() + firings_start()
