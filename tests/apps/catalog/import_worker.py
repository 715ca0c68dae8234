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
from tests.factories.interest_imports import standing_still  # noqa: E402

import_tables.LINES_AT_ONCE = 20
import_tables.INTERESTS_AT_ONCE = 20
import_execute.HEARTBEAT_EVERY_S = 0.05
if len(sys.argv) > 2:
    still = standing_still(sys.argv[2], sys.stdin.readline)
    import_execute.Pulse.advance = still  # type: ignore[method-assign]
import_execute.import_execute(public_id=UUID(sys.argv[1]))
