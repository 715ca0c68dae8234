"""Celery tasks of allocations: load by id, call one service."""

from typing import Any

from celery import shared_task

from apps.allocations.services import allocation_solve


@shared_task(name="allocations.solve", ignore_result=True)
def solve(*, run_id: int, **_: Any) -> None:
    """One attempt of an allocation run."""
    allocation_solve(run_id=run_id)
