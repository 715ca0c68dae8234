"""Celery tasks of calibration: load by id, call one service."""

from typing import Any

from celery import shared_task

from apps.calibration.services import fit_solve


@shared_task(name="calibration.fit", ignore_result=True)
def fit(*, run_id: int, **_: Any) -> None:
    """One attempt of a fit."""
    fit_solve(run_id=run_id)
