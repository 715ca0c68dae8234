"""Celery tasks of the run's life."""

from typing import Any

from celery import shared_task

from apps.runs.services import runs_reap


@shared_task(name="runs.reap", ignore_result=True, expires=30)
def reap(**_: Any) -> int:
    """Every few seconds: no run is left to a dead worker or a lost message."""
    return runs_reap()
