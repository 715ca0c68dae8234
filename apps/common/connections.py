"""Release the database connections of threads that last longer than their need of one."""

from django.db import connections


def connections_release() -> None:
    """Close this thread's connections, unless a transaction is open on them.

    An event stream has a thread of its own. Its connection would stay open as long as the stream
    lasts, or until the garbage collector finds it: Postgres has a hundred.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
