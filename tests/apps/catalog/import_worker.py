"""A process that carries out one import in small pieces, and stands still within a phase until it
is sent a line, so that it can be killed or frozen there.

Started by `test_interest_imports_interrupted.py` with the import's id, and the phase if any.
"""

import os
import sys
from uuid import UUID

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
django.setup()

from apps.catalog.services import import_execute, import_tables  # noqa: E402

import_tables.LINES_AT_ONCE = 20
import_tables.INTERESTS_AT_ONCE = 20
import_execute.HEARTBEAT_EVERY_S = 0.05
advance = import_execute.Pulse.advance


def advance_and_stand_still(pulse: import_execute.Pulse, count: int) -> None:
    """Count, then wait where the phase is begun and not over; heartbeats go on."""
    advance(pulse, count)
    if pulse.phase == sys.argv[2] and 0 < pulse.done < pulse.total:
        import_execute.Pulse.advance = advance  # type: ignore[method-assign]
        sys.stdin.readline()


if len(sys.argv) > 2:
    import_execute.Pulse.advance = advance_and_stand_still  # type: ignore[method-assign]
import_execute.import_execute(public_id=UUID(sys.argv[1]))
