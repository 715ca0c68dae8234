"""Take locks that one process of the whole installation holds."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


def lock_try(name: str) -> bool:
    """Take this lock, or keep it; return False while another process holds it.

    It is an advisory lock of Postgres that the database connection holds: a process that dies
    releases it, and no one has to be elected. `name` has at most eight ASCII letters, which are
    the lock's key, so that purposes with different names never share a key.
    """
    key = int.from_bytes(name.encode("ascii"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        return bool(cursor.fetchone()[0])


@contextmanager
def lock_while(name: str) -> Iterator[bool]:
    """Hold this lock for a while; the value is False where another process has it."""
    held = lock_try(name)
    try:
        yield held
    finally:
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [int.from_bytes(name.encode())])


def lock_until_commit(name: str, *, wait: bool = False) -> bool:
    """Take this lock until the transaction ends; return False while another process has it. With
    `wait` it is taken once that one has ended its transaction."""
    call = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {call}(%s)", [int.from_bytes(name.encode("ascii"))])
        # The one that waits answers nothing, which is no False.
        return cursor.fetchone()[0] is not False
