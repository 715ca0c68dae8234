"""Read one state of the database, wait for one that restarts, and release what nobody needs."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections, transaction

logger = logging.getLogger(__name__)

T = TypeVar("T")
DATABASE_PATIENCE_S = 60.0
RETRY_PAUSE_S = 0.5


def patiently(action: Callable[[], T]) -> T:
    """Do the action, waiting for a Postgres that restarts; its supervisor starts it within seconds.

    Raises OperationalError or InterfaceError where it stays away for `DATABASE_PATIENCE_S`.
    """
    deadline = time.monotonic() + DATABASE_PATIENCE_S
    while True:
        try:
            return action()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if time.monotonic() > deadline:
                raise
            logger.warning("database away, waiting: %s", str(error).strip())
            time.sleep(RETRY_PAUSE_S)


@contextmanager
def one_moment() -> Iterator[None]:
    """Let everything inside read one state of the database.

    Inside a transaction this does nothing: its isolation cannot change any more.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def connections_release() -> None:
    """Close this thread's connections, unless a transaction is open on them.

    An event stream has a thread of its own. Its connection would stay open as long as the stream
    lasts, or until the garbage collector finds it: Postgres has a hundred.
    """
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()
