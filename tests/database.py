"""Take back what tests, and single requests of a test, have written."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, transaction
from django.test import TransactionTestCase
from psycopg2 import sql

# What migrations and models put there once, for all tests.
KEPT = {"auth_permission", "django_content_type", "django_migrations"}


@cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted(set(connection.introspection.table_names()) - KEPT))


def rows_delete() -> None:
    """Delete the rows of every table that has any.

    Django's own way, to truncate all tables and to make permissions anew, takes a second and more
    for each test. No trigger fires here: that of the audit record would refuse.
    """
    tables = _tables()
    filled = sql.SQL(" UNION ALL ").join(
        sql.SQL("SELECT {} WHERE EXISTS (SELECT 1 FROM {})").format(
            sql.Literal(name), sql.Identifier(name)
        )
        for name in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(filled)
        emptied = [name for (name,) in cursor.fetchall()]
        if not emptied:
            return
        cursor.execute("SET session_replication_role = replica")
        try:
            for name in emptied:
                cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
        finally:
            cursor.execute("SET session_replication_role = DEFAULT")


@contextmanager
def taken_back() -> Iterator[None]:
    """Roll back to this point at the end, and whatever fails inside."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def requests_in_the_test_transaction() -> Iterator[None]:
    """Keep the test's connection open at a request's end, as Django's own test client does; other
    clients would close it, and end the test's transaction."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in signals:
            signal.connect(close_old_connections)


def install() -> None:
    """Clean up that way after every test with transactions of its own."""

    def _fixture_teardown(self: Any) -> None:
        rows_delete()

    setattr(TransactionTestCase, "_fixture_teardown", _fixture_teardown)  # noqa: B010
