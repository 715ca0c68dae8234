"""Define the Celery tasks of recomputation."""

from typing import Any
from uuid import UUID

from celery import shared_task

from apps.recomputation.services import firings_start, schedule_due


@shared_task(name="recomputation.due", ignore_result=True, expires=60)
def due(*, schedule: str, **_: Any) -> bool:
    """Fire a schedule that beat reports as due; its row decides, and the run starts at once."""
    fired = schedule_due(public_id=UUID(schedule))
    firings_start()
    return fired
