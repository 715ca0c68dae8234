"""Take locks that one process of the whole installation holds."""

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
