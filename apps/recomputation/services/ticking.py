"""What the coordinator calls again and again."""

from apps.recomputation.services.firing import schedules_catch_up
from apps.recomputation.services.looking import triggers_look
from apps.recomputation.services.seeing_through import firings_settle, firings_start


def recomputation_tick() -> int:
    """Fire what triggers see and what beat missed; settle what ended; start what waits.

    Any number of processes may call it at once.
    """
    return schedules_catch_up() + triggers_look() + firings_settle() + firings_start()
