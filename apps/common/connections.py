"""Database connections of threads that live for one request."""

from django.db import connections


def connections_release() -> None:
    """Close this thread's connections, unless a transaction is open on them.

    Under ASGI every request has a thread of its own. Its connection would stay open, until the
    garbage collector finds it, or as long as an event stream lasts: Postgres has a hundred.
    """
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
