"""Read all interests of a system as a table."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.db import connection

from apps.systems.models import System

PIECE_BYTES = 256 * 1024
# A name that a spreadsheet would take for a formula gets a mark in front; it is doubled where it
# was there before. The same rule as `apps.common.csv_text.guarded`.
_GUARDED = "CASE WHEN {0} ~ $re$^'*[=+\\-@\\t\\r]$re$ THEN '''' || {0} ELSE {0} END"
_EVERY = f"""
COPY (
    SELECT {_GUARDED.format("subscriber.name")} AS subscriber,
           {_GUARDED.format("topic.name")} AS topic
    FROM catalog_interest AS interest
    JOIN catalog_subscriber AS subscriber ON subscriber.id = interest.subscriber_id
    JOIN catalog_topic AS topic ON topic.id = interest.topic_id
    WHERE subscriber.system_id = {{system}}
    ORDER BY subscriber.name, topic.name
) TO STDOUT (FORMAT csv, HEADER)
"""


def interests_csv(system: System) -> AsyncIterator[bytes]:
    """Return every interest of the system as CSV, in pieces that are read from a file on disk.

    One statement writes the file before the first piece is read, so it shows one moment.
    """
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        with connection.cursor() as cursor, connection.wrap_database_errors:
            raw: Any = cursor
            raw.copy_expert(_EVERY.format(system=int(system.pk)), file)
        file.seek(0)
        # Whoever reads the pieces closes it.
        stack.pop_all()
    return _pieces(file)


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while piece := await sync_to_async(file.read)(PIECE_BYTES):
            yield piece
