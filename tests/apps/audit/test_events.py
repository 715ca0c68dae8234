"""Whoever has read up to a number has missed nothing before it."""

import random
import threading
import uuid
from typing import Any

import pytest
from django.db import connection, transaction

from apps.audit.models import AuditEntry, Event, NewEntry
from apps.audit.services import entry, events_number, record, record_all
from tests.at_once import at_once


def write(name: str, object_id: uuid.UUID | None = None) -> AuditEntry:
    return record(
        actor=None,
        action="update",
        object_kind="topic",
        object_id=object_id or uuid.uuid4(),
        object_name=name,
    )


def names() -> list[str]:
    """Objects of the events, in the order of their numbers."""
    return list(Event.objects.order_by("number").values_list("entry__object_name", flat=True))


def test_each_entry_gets_one_number_without_gaps(db: None) -> None:
    start = Event.objects.count()
    first = write("a")
    record_all(
        [
            entry(
                actor=None,
                action="update",
                object_kind="topic",
                object_id=uuid.uuid4(),
                object_name=name,
            )
            for name in "bc"
        ]
    )
    assert events_number() == 3 + NewEntry.objects.count()
    assert names()[start:] == ["a", "b", "c"]
    assert events_number() == 0
    numbers = list(Event.objects.order_by("number").values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    assert first.event.number == start + 1


@pytest.mark.django_db(transaction=True)
def test_entry_that_commits_late_comes_after_those_that_were_read(transactional_db: None) -> None:
    written, numbered = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            write("late")
            written.set()
            assert numbered.wait(60.0)

    def fast() -> None:
        assert written.wait(60.0)
        write("early")
        events_number()
        assert names() == ["early"]
        numbered.set()

    at_once(slow, fast)
    events_number()
    assert names() == ["early", "late"]


@pytest.mark.django_db(transaction=True)
def test_a_reader_beside_many_writers_misses_nothing_and_sees_each_object_in_order(
    transactional_db: None,
) -> None:
    objects = [uuid.uuid4() for _ in range(3)]
    random_of = [random.Random(seed) for seed in range(4)]
    written: list[int] = []
    lock = threading.Lock()
    over = threading.Event()

    def writer(chance: random.Random) -> None:
        for _ in range(40):
            number = chance.randrange(len(objects))
            with transaction.atomic():
                # Another row first, so that ids of transactions and of entries differ.
                write("other")
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [1_000 + number])
                row = write("mine", objects[number])
            with lock:
                written.append(row.pk)

    def reader() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        last, is_last = 0, False
        while True:
            is_last = over.is_set()
            events_number()
            rows = list(
                Event.objects.filter(number__gt=last)
                .order_by("number")
                .values_list("number", "entry_id")
            )
            seen += rows
            last = rows[-1][0] if rows else last
            if is_last:
                return seen

    def writers() -> None:
        try:
            at_once(*(lambda chance=chance: writer(chance) for chance in random_of))
        finally:
            over.set()

    *_, seen = at_once(writers, reader)
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    assert set(written) <= {key for _, key in seen}
    assert len(seen) == AuditEntry.objects.count()
    for one in objects:
        keys = [key for _, key in seen if key in set(of_object(one))]
        assert keys == sorted(keys)


def of_object(object_id: uuid.UUID) -> Any:
    return AuditEntry.objects.filter(object_id=object_id).values_list("pk", flat=True)
