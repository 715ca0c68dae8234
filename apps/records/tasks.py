"""Define the Celery tasks of records."""

from typing import Any

from celery import shared_task

from apps.records.services import measurements_take


@shared_task(name="records.take_measurements", ignore_result=True, expires=20)
def take_measurements(**_: Any) -> int:
    """Take what agents measured in the minutes that are over, a few times in each."""
    return measurements_take()
