"""Define the Celery tasks of integrations."""

from typing import Any
from uuid import UUID

from celery import shared_task

from apps.integrations.services import changes_follow, connection_work, work_hand_out


@shared_task(name="integrations.follow", ignore_result=True, expires=10)
def follow(**_: Any) -> int:
    """Follow plans every few seconds, and start a worker where something is to be sent."""
    moved = changes_follow()
    work_hand_out()
    return moved


@shared_task(name="integrations.work", ignore_result=True, expires=30)
def work(*, connection: str, **_: Any) -> int:
    """Send what waits for one connection, and look at its changes."""
    return connection_work(UUID(connection))
