"""Celery tasks of overlay evaluations: load by id, call one service."""

from typing import Any

from celery import shared_task

from apps.evaluations.services import evaluation_solve


@shared_task(name="overlays.evaluate", ignore_result=True)
def evaluate(*, run_id: int, **_: Any) -> None:
    """One attempt of an evaluation's run."""
    evaluation_solve(run_id=run_id)
