"""Define the Celery tasks of notifications."""

from typing import Any

from celery import shared_task

from apps.notifications.services import chats_post, messages_tidy, notices_send


@shared_task(name="notifications.send", ignore_result=True, expires=10)
def send(**_: Any) -> int:
    """Send people what is due every few seconds."""
    return notices_send()


@shared_task(name="notifications.post", ignore_result=True, expires=10)
def post(**_: Any) -> int:
    """Post to channels of chats what is due every few seconds."""
    return chats_post()


@shared_task(name="notifications.tidy", ignore_result=True, expires=600)
def tidy(**_: Any) -> int:
    """Delete old notices once in a while."""
    return messages_tidy()
