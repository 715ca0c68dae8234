"""Do everything that time alone causes, until SIGTERM: `manage.py coordinate`.

Any number may run: each loop takes the rows that it works on under their locks, so a second one
only finds less to do.
"""

import logging
import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from apps.common.loops import Loop, run_loops

logger = logging.getLogger(__name__)
# What somebody did that a loop may have to follow up. Telemetry is not among it: it comes all the
# time, and the loops that use it have their own pace. Nor are decisions of adaptation: they are
# what a loop itself does, as often.
WAKE_ON = frozenset({"execution", "plan", "policy", "system", "agent", "adaptation"})


class Command(BaseCommand):
    """Call each loop of settings.WEIR_LOOPS at its pace, each in a thread of its own."""

    help = "Call the loops that carry out, settle, correct and recompute, until stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Call each loop once and end.")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        loops = [self._loop(*entry, stop) for entry in settings.WEIR_LOOPS]
        if options["once"]:
            for loop in loops:
                loop.function()
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        logger.info("coordinating: %s", ", ".join(loop.name for loop in loops))
        if not run_loops(loops, stop=stop, wake_on=WAKE_ON):
            raise CommandError("A loop ended without being asked to; see the log.")
        logger.info("coordinator stopped")

    def _loop(
        self,
        name: str,
        every_s: float,
        quiet_s: float,
        least_pause_s: float,
        stop: threading.Event,
    ) -> Loop:
        try:
            function = import_string(name)
        except ImportError as error:
            raise CommandError(
                f"WEIR_LOOPS names {name}, which cannot be imported: {error}"
            ) from error
        return Loop(
            name=name,
            function=function,
            every_s=every_s,
            quiet_s=quiet_s,
            least_pause_s=least_pause_s,
            stop=stop,
        )
