"""Start a Celery task by its name, after the surrounding transaction has committed."""

import logging
from functools import cache

from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis import RedisError

logger = logging.getLogger(__name__)


@cache
def _client() -> Celery:
    """Return an application that can only send: the web process knows no tasks."""
    client = Celery("weir-client", set_as_current=False)
    client.config_from_object("django.conf:settings", namespace="CELERY")
    client.conf.broker_transport_options = {
        "socket_connect_timeout": 2,
        "socket_timeout": 2,
        # Kombu has its own connection timeout, whatever `retry` says.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    }
    return client


def _send(name: str, kwargs: dict[str, object]) -> None:
    # A broker that is down must not fail the request: the run stays `queued` in Postgres and the
    # reaper sends it again. Retrying here would hold the request open.
    route = settings.CELERY_TASK_ROUTES.get(name, {})
    queue = route.get("queue", settings.CELERY_TASK_DEFAULT_QUEUE)
    try:
        _client().send_task(name, kwargs=kwargs, queue=queue, retry=False)
    except (OperationalError, OSError, RedisError) as error:
        logger.warning("task %s %s not sent, message broker away: %s", name, kwargs, error)


def queues_taken(*, within_s: float) -> set[str]:
    """Ask the workers from which queues they take; none where the broker is away."""
    try:
        answers = _client().control.inspect(timeout=within_s).active_queues() or {}
    except (OperationalError, OSError, RedisError):
        return set()
    return {queue["name"] for queues in answers.values() for queue in queues}


def enqueue(name: str, **kwargs: object) -> None:
    """Send the task `name` on commit; pass ids, never objects.

    `robust`: an error while sending one message does not stop the others.
    """

    def send() -> None:
        _send(name, kwargs)

    transaction.on_commit(send, robust=True)
