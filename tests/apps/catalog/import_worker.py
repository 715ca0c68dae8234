"""A process that carries out one import in small pieces, so that it can be killed within one.

Started by `test_interest_imports_interrupted.py` with the import's id.
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
import_execute.import_execute(public_id=UUID(sys.argv[1]))
