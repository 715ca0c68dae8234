"""Define the Celery tasks of sums of records, and of objectives that are judged by them."""

from typing import Any

from celery import shared_task

from apps.pipeline.services.objectives import judged_tidy, objectives_judge
from apps.pipeline.services.sums import sums_add_waiting, sums_tidy
from apps.records.services import records_tidy

BATCHES = 200
"""Of one pass."""


@shared_task(name="pipeline.add_sums", ignore_result=True, expires=10)
def add_sums(**_: Any) -> int:
    """Add batches that wait to the sums, every few seconds; several may be at it."""
    return sums_add_waiting(BATCHES)


@shared_task(name="pipeline.judge_objectives", ignore_result=True, expires=10)
def judge_objectives(**_: Any) -> int:
    """Judge the minutes of objectives whose sums changed, every few seconds."""
    return objectives_judge()


@shared_task(name="pipeline.tidy", ignore_result=True, expires=600)
def tidy(**_: Any) -> int:
    """Delete sums, verdicts, batches and files that were kept long enough, once in a while."""
    return sums_tidy() + judged_tidy() + records_tidy()
