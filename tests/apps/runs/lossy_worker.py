"""A real Celery worker whose child is killed at a named place of its first task.

Started by `test_lost_messages.py`; KILL_AT says where.
"""

import os
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import django
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
django.setup()

from apps.runs.services import run_claim  # noqa: E402

app = Celery("lossy")
app.config_from_object("django.conf:settings", namespace="CELERY")


def _die_once_at(place: str) -> None:
    mark = Path(os.environ["KILL_MARK"])
    if place == os.environ["KILL_AT"] and not mark.exists():
        mark.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="runs.execute")  # type: ignore[untyped-decorator]
def claim(*, run: str, **_: Any) -> None:
    """Take the run and end: its attempt then falls silent, as one whose child was killed."""
    _die_once_at("before the claim")
    run_claim(run=UUID(run))
    _die_once_at("after the claim")
