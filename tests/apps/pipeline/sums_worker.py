"""Add the batches that wait, in a process of its own that dies within the transaction of one."""

import os
import signal
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
django.setup()

from apps.pipeline.services import sums  # noqa: E402

tables = 0
add = sums._add


def die_at_the_third(*arguments: Any) -> None:
    """Add rows to a table; kill this process when it was the third."""
    global tables
    tables += 1
    add(*arguments)
    if tables == 3:
        os.kill(os.getpid(), signal.SIGKILL)


if "die" in sys.argv:
    sums._add = die_at_the_third
sums.sums_add_waiting(1000)
