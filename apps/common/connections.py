"""Read one state of the database, and release connections that are no longer needed."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections, transaction


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
