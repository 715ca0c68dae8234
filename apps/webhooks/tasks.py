"""Define the Celery tasks of webhooks."""

from typing import Any
from uuid import UUID

from celery import shared_task

from apps.webhooks.services import (
    deliveries_queue,
    deliveries_tidy,
    webhook_send,
    webhooks_hand_out,
)


@shared_task(name="webhooks.follow", ignore_result=True, expires=10)
def follow(**_: Any) -> int:
    """Queue events every few seconds, and start a worker where something is to be sent."""
    queued = deliveries_queue()
    webhooks_hand_out()
    return queued


@shared_task(name="webhooks.send", ignore_result=True, expires=30)
def send(*, webhook: str, **_: Any) -> int:
    """Send what is due to one webhook."""
    return webhook_send(UUID(webhook))


@shared_task(name="webhooks.tidy", ignore_result=True, expires=600)
def tidy(**_: Any) -> int:
    """Delete old deliveries once in a while."""
    return deliveries_tidy()
