"""Ask whether the workers and Spark answer."""

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
        taken = queues_taken(within_s=PATIENCE_S)
        known = [
            Process(
                "Spark",
                _answered_lately("spark", spark_answers()),
                "Runs wait for it, up to a minute each.",
            ),
            *(
                Process(name, _answered_lately(queue, queue in taken), meanwhile)
                for name, (queue, meanwhile) in _workers().items()
            ),
        ]
        cache.set("runs.processes", known, REMEMBERED_S)
    return known


def _answered_lately(name: str, answers: bool) -> bool:
    """Tell whether it answers now, or answered a moment ago."""
    key = f"runs.processes.{name}"
    if answers:
        cache.set(key, True, LATELY_S)
        return True
    return bool(cache.get(key))


def _workers() -> dict[str, tuple[str, str]]:
    """Return of each worker's name the queue that it takes from, and what waits for it."""
    return {
        "worker": (settings.CELERY_TASK_DEFAULT_QUEUE, "Runs stay queued until it takes them."),
        "imports worker": (
            "imports",
            "Imports of interests, and changes of plans, wait until it takes them.",
        ),
        "control worker": (
            "control",
            "Schedules do not fire, and what ended without a word stays under way.",
        ),
    }
