"""Ask whether the workers and Spark, which compute runs, answer."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache

from apps.common.tasks_by_name import queues_taken
from apps.runs.services.gateway import spark_answers

REMEMBERED_S = 3
"""So that many open pages ask the processes no more often than one."""
LATELY_S = 20
"""How long an answer counts: a busy machine may miss one question."""
PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Process:
    """Describe something that runs wait for."""

    name: str
    answers: bool
    meanwhile: str
    """What happens while it does not answer."""


def processes() -> list[Process]:
    """Ask the workers and Spark, at most once in some seconds."""
    known: list[Process] | None = cache.get("runs.processes")
    if known is None:
        known = [
            Process(
                "Spark",
                _answers_lately("spark", spark_answers),
                "Runs wait for it, up to a minute each.",
            ),
            Process(
                "worker",
                _answers_lately("worker", _worker_answers),
                "Runs stay queued until it takes them.",
            ),
        ]
        cache.set("runs.processes", known, REMEMBERED_S)
    return known


def _answers_lately(name: str, ask: Callable[[], bool]) -> bool:
    """Tell whether it answers now, or answered a moment ago."""
    key = f"runs.processes.{name}"
    if ask():
        cache.set(key, True, LATELY_S)
        return True
    return bool(cache.get(key))


def _worker_answers() -> bool:
    """Ask who takes messages from the queue of runs."""
    return settings.CELERY_TASK_DEFAULT_QUEUE in queues_taken(within_s=PATIENCE_S)
