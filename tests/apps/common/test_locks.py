"""Locks of the installation: one process has each of them, until its connection ends."""

import pytest
from django.db import connection, transaction

from apps.common.locks import lock_try, lock_until_commit

pytestmark = pytest.mark.django_db

ANCHOR = 0x616E63686F72
"""`anchor` in ASCII."""


def taken(cursor):
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [ANCHOR])
    return cursor.fetchone()[0]


def test_who_has_a_lock_keeps_it_and_another_process_does_not_get_it(other_process):
    assert [lock_try("anchor") for _ in range(3)] == [True] * 3
    assert not taken(other_process)


def test_a_lock_of_a_process_that_died_is_free(other_process):
    assert taken(other_process)
    assert not lock_try("anchor")
    other_process.execute("SELECT pg_backend_pid()")
    pid = other_process.fetchone()[0]
    with connection.cursor() as cursor:
        # Returns when the process has ended; closing its connection would not wait for that.
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    assert lock_try("anchor")


def test_locks_with_different_names_are_different_locks(other_process):
    assert taken(other_process)
    assert lock_try("rope")


def test_a_lock_of_a_transaction_ends_with_it(other_process):
    try:
        with transaction.atomic():
            assert lock_until_commit("anchor")
            assert lock_until_commit("anchor", wait=True)
            assert not taken(other_process)
            raise LookupError
    except LookupError:
        assert taken(other_process)
    with transaction.atomic():
        assert not lock_until_commit("anchor")
