"""Celery tasks of studies: load by id, call one service."""

from typing import Any

from celery import shared_task

from apps.studies.services import study_solve


@shared_task(name="studies.solve", ignore_result=True)
def solve(*, run_id: int, **_: Any) -> None:
    """One attempt of a study's run."""
    study_solve(run_id=run_id)
