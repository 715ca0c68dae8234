"""Provide the Celery application; workers and beat start with `-A config.celery`."""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import task_prerun
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

app = Celery("weir")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Connections are kept over tasks as the web server keeps them over requests: to open one costs more
# than most of the tasks that beat calls every few seconds. Celery would close them around each.
app.conf["CELERY_DB_REUSE_MAX"] = sys.maxsize
app.autodiscover_tasks()


@task_prerun.connect
def fresh_connections(*, task: Any, **_: Any) -> None:
    """Close the connections that broke or grew old since this thread's last task."""
    if not task.request.is_eager:
        close_old_connections()
