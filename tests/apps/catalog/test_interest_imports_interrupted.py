"""Imports that are cancelled, whose worker is killed or frozen, or whose message is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.catalog.models import InterestImport, InterestImportPiece, Subscriber
from apps.catalog.services import import_execute, import_tables, imports_reap
from apps.catalog.services.imports import (
    ImportTakenAway,
    import_claim,
    import_end,
    import_heartbeat,
)
from apps.common.events import CHANNEL
from apps.systems.models import System
from apps.systems.services import system_delete
from apps.systems.services.edit import lock
from tests.factories.interest_imports import (
    carry_out,
    make_catalog,
    pairs_of,
    row_of,
    standing_still,
    start,
    table,
)
from tests.freezing import freeze, thaw
from weir.lifecycle.imports import ImportCommand, ImportState

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0
LONG_AGO = timedelta(minutes=5)
TOPICS = [f"t{k}" for k in range(200)]
BEFORE = {f"s{k}": TOPICS[:50] for k in range(40)}
WANTED = {(f"s{k}", topic) for k in range(50) for topic in TOPICS[40:]}
"""Ends 1,600 interests, begins 7,600, with ten new subscribers."""
QUEUE = "test-imports"


@pytest.fixture
def system(transactional_db: None) -> System:
    return make_catalog(BEFORE, TOPICS)


@pytest.fixture(autouse=True)
def messages(settings: Any, valkey: Any) -> Iterator[Callable[[], int]]:
    """How many messages wait in a queue that no worker reads."""
    settings.CELERY_TASK_ROUTES = {
        **settings.CELERY_TASK_ROUTES,
        "catalog.import_interests": {"queue": QUEUE},
    }
    valkey.delete(QUEUE)
    yield lambda: valkey.llen(QUEUE)
    valkey.delete(QUEUE)


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def before() -> set[tuple[str, str]]:
    return {(name, topic) for name, topics in BEFORE.items() for topic in topics}


def queued(api: Any, system: System) -> UUID:
    return start(api, system, "replace", table(sorted(WANTED)), create_missing="subscribers")


def is_as_before(system: System) -> bool:
    return (
        pairs_of(system) == before()
        and System.objects.get(pk=system.pk).model_version == system.model_version
        and not AuditEntry.objects.filter(object_kind="interest_import", action="import").exists()
        and Subscriber.objects.filter(system=system).count() == 40
    )


def was_done_once(system: System) -> bool:
    """One version more, one entry, each changed subscriber one version more."""
    versions = set(Subscriber.objects.filter(system=system).values_list("name", "version"))
    expected = {(f"s{k}", 2 if k < 40 else 1) for k in range(50)}
    return (
        pairs_of(system) == WANTED
        and versions == expected
        and System.objects.get(pk=system.pk).model_version == system.model_version + 1
        and AuditEntry.objects.filter(object_kind="interest_import", action="import").count() == 1
    )


def _database() -> str:
    row = connection.settings_dict
    user, password, name = (quote(str(row[key]), safe="") for key in ("USER", "PASSWORD", "NAME"))
    return f"postgres://{user}:{password}@{row['HOST']}:{row['PORT']}/{name}"


@contextmanager
def worker(public_id: UUID, *phase: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that carries the import out; in a phase it waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.apps.catalog.import_worker", str(public_id), *phase],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        env={**os.environ, "DATABASE_URL": _database()},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def within(public_id: UUID, phase: str) -> Callable[[], bool]:
    """Whether a worker is in the middle of this phase."""

    def reached() -> bool:
        row = row_of(public_id)
        assert row.state in (ImportState.QUEUED, ImportState.RUNNING), row.state
        return row.phase == phase and 0 < row.done < row.total

    return reached


@pytest.fixture
def stand_still(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], threading.Event]]:
    """Let imports of this process wait within a phase until an event is set."""
    go_on = threading.Event()

    def within_phase(phase: str) -> threading.Event:
        monkeypatch.setattr(import_execute, "HEARTBEAT_EVERY_S", 0.05)
        monkeypatch.setattr(import_execute.Pulse, "advance", standing_still(phase, go_on.wait))
        return go_on

    yield within_phase
    go_on.set()


@contextmanager
def in_a_thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield thread
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["read", "write"])
def test_a_worker_that_is_killed_loses_nothing_and_writes_nothing_twice(
    api: Any, system: System, settings: Any, messages: Callable[[], int], phase: str
) -> None:
    public_id = queued(api, system)
    with worker(public_id, phase) as process:
        until(within(public_id, phase))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
    assert is_as_before(system)
    row = row_of(public_id)
    assert (row.state, row.attempt) == (ImportState.RUNNING, 1)
    assert imports_reap() == 0, "its last heartbeat is too young"
    settings.WEIR_RUN_SILENCE_S = 0.0
    sent_before = messages()
    assert imports_reap() == 1
    row = row_of(public_id)
    assert (row.state, row.worker) == (ImportState.QUEUED, "")
    assert messages() == sent_before + 1
    with worker(public_id) as process:
        assert process.wait(PATIENCE_S) == 0
    row = row_of(public_id)
    assert (row.state, row.attempt) == (ImportState.SUCCEEDED, 2)
    assert (row.added, row.removed, row.subscribers_created) == (7600, 1600, 10)
    assert was_done_once(system)
    assert InterestImportPiece.objects.count() == 0


@pytest.mark.slow
def test_a_frozen_worker_that_wakes_writes_nothing_beside_the_next(
    api: Any, system: System, settings: Any
) -> None:
    public_id = queued(api, system)
    with worker(public_id, "write") as frozen:
        until(within(public_id, "write"))
        freeze(frozen.pid)
        settings.WEIR_RUN_SILENCE_S = 0.0
        until(imports_reap)
        settings.WEIR_RUN_SILENCE_S = 30.0
        with in_a_thread(lambda: import_execute.import_execute(public_id=public_id)):
            # The second attempt waits for the lock that the first one holds in its sleep.
            until(lambda: row_of(public_id).attempt == 2 and row_of(public_id).phase == "match")
            assert is_as_before(system)
            thaw(frozen.pid)
            frozen.communicate(b"\n", PATIENCE_S)
            assert frozen.returncode == 0
    row = row_of(public_id)
    assert (row.state, row.attempt) == (ImportState.SUCCEEDED, 2)
    assert was_done_once(system)


def test_the_last_attempt_that_is_lost_ends_the_import(
    api: Any, system: System, settings: Any
) -> None:
    public_id = queued(api, system)
    settings.WEIR_RUN_SILENCE_S = 0.0
    for attempt in (1, 2, 3):
        claimed = import_claim(public_id=public_id)
        assert claimed is not None
        assert claimed.attempt == attempt
        assert imports_reap() >= 1
    row = row_of(public_id)
    assert row.state == ImportState.FAILED
    assert "Given up after 3 attempts; nothing was changed." in row.failure
    assert row.ended_at is not None
    assert InterestImportPiece.objects.count() == 0
    assert is_as_before(system)


def test_only_the_attempt_that_owns_an_import_ends_it(
    api: Any, system: System, settings: Any
) -> None:
    public_id = queued(api, system)
    first = import_claim(public_id=public_id)
    assert first is not None
    settings.WEIR_RUN_SILENCE_S = 0.0
    assert imports_reap() == 1
    with pytest.raises(ImportTakenAway):
        import_end(first, ImportCommand.SUCCEED)
    second = import_claim(public_id=public_id)
    assert second is not None
    for command in (ImportCommand.SUCCEED, ImportCommand.REFUSE, ImportCommand.CANCEL):
        with pytest.raises(ImportTakenAway):
            import_end(first, command)
    with pytest.raises(ImportTakenAway):
        import_heartbeat(first, phase="write", done=1, total=2)
    import_end(second, ImportCommand.SUCCEED)
    assert row_of(public_id).state == ImportState.SUCCEEDED


def test_of_two_messages_one_carries_the_import_out(api: Any, system: System) -> None:
    public_id = queued(api, system)
    execute = import_execute.import_execute
    with (
        in_a_thread(lambda: execute(public_id=public_id)),
        in_a_thread(lambda: execute(public_id=public_id)),
    ):
        pass
    row = row_of(public_id)
    assert (row.state, row.attempt) == (ImportState.SUCCEEDED, 1)
    assert was_done_once(system)
    execute(public_id=public_id)
    assert was_done_once(system)


def test_an_import_whose_message_is_lost_is_sent_again(
    api: Any, system: System, messages: Callable[[], int]
) -> None:
    queued(api, system)
    assert messages() == 1
    assert imports_reap() == 0
    InterestImport.objects.update(sent_at=timezone.now() - LONG_AGO)
    assert imports_reap() == 1
    assert messages() == 2
    assert imports_reap() == 0
    InterestImport.objects.update(sent_at=timezone.now() - LONG_AGO)
    call_command("coordinate", "--once")
    assert messages() == 3


def test_a_queued_import_is_cancelled_at_once(api: Any, admin: Any, system: System) -> None:
    public_id = queued(api, system)
    where = f"/api/v1/interest-imports/{public_id}"
    answer = api.post(f"{where}/cancel", {"reason": "The wrong file."}, format="json")
    assert answer.status_code == 202
    assert answer["Location"] == where
    body = answer.json()
    assert (body["state"], body["allowed_commands"]) == ("cancelled", [])
    assert body["ended_at"]
    import_execute.import_execute(public_id=public_id)
    assert is_as_before(system)
    assert InterestImportPiece.objects.count() == 0
    entry = AuditEntry.objects.get(object_kind="interest_import")
    assert (entry.action, entry.actor, entry.reason) == ("cancel", admin, "The wrong file.")
    again = api.post(f"{where}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "import_has_ended")


def test_a_cancel_between_two_pieces_takes_everything_back(
    api: Any,
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    stand_still: Callable[[str], threading.Event],
) -> None:
    monkeypatch.setattr(import_tables, "INTERESTS_AT_ONCE", 5)
    go_on = stand_still("write")
    public_id = queued(api, system)
    where = f"/api/v1/interest-imports/{public_id}"
    with in_a_thread(lambda: import_execute.import_execute(public_id=public_id)):
        until(within(public_id, "write"))
        running = api.get(where).json()
        assert (running["state"], running["allowed_commands"]) == ("running", ["cancel"])
        asked = api.post(f"{where}/cancel").json()
        assert asked["cancel_requested"] is True
        assert asked["allowed_commands"] == []
        go_on.set()
    assert api.get(where).json()["state"] == "cancelled"
    assert is_as_before(system)
    assert InterestImportPiece.objects.count() == 0
    # The connection of the worker is sound, and so is the next import.
    assert carry_out(api, system, "add", table([("s1", "t100")]))["added"] == 1


def test_a_cancel_reaches_an_import_that_waits_for_the_system(
    api: Any, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_execute, "HEARTBEAT_EVERY_S", 0.05)
    public_id = queued(api, system)
    work = in_a_thread(lambda: import_execute.import_execute(public_id=public_id))
    with work as thread, transaction.atomic():
        lock(system)
        until(lambda: thread.is_alive() and row_of(public_id).phase == "match")
        # Its own connection: this one holds the lock in a transaction.
        with in_a_thread(lambda: api.post(f"/api/v1/interest-imports/{public_id}/cancel")):
            pass
        until(lambda: row_of(public_id).state == ImportState.CANCELLED)
    assert is_as_before(system)


def test_edits_wait_for_the_writing_not_for_the_reading(
    api: Any,
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    stand_still: Callable[[str], threading.Event],
) -> None:
    monkeypatch.setattr(import_tables, "LINES_AT_ONCE", 5)
    go_on = stand_still("read")
    public_id = queued(api, system)
    with in_a_thread(lambda: import_execute.import_execute(public_id=public_id)):
        until(within(public_id, "read"))
        body = {"system": str(system.public_id), "name": "early", "rate_max_per_s": 1}
        assert api.post("/api/v1/topics", body, format="json").status_code == 201
        assert row_of(public_id).phase == "read"
        go_on.set()
    assert row_of(public_id).state == ImportState.SUCCEEDED


def test_a_system_that_is_deleted_takes_its_imports_along(
    api: Any,
    admin: Any,
    system: System,
    monkeypatch: pytest.MonkeyPatch,
    stand_still: Callable[[str], threading.Event],
) -> None:
    monkeypatch.setattr(import_tables, "LINES_AT_ONCE", 5)
    go_on = stand_still("read")
    public_id = queued(api, system)
    with in_a_thread(lambda: import_execute.import_execute(public_id=public_id)):
        until(within(public_id, "read"))
        system_delete(system=system, actor=admin, expected_version=system.version)
        go_on.set()
    assert not InterestImport.objects.exists()
    assert not InterestImportPiece.objects.exists()


def test_a_fault_ends_the_import_with_its_reason(api: Any, system: System) -> None:
    public_id = queued(api, system)
    # A file of which a piece is gone.
    InterestImportPiece.objects.update(content=b"no zlib")
    import_execute.import_execute(public_id=public_id)
    row = row_of(public_id)
    assert row.state == ImportState.FAILED
    assert "This is a fault of Weir" in row.failure
    assert is_as_before(system)


def test_progress_and_states_are_news(api: Any, system: System, valkey: Any) -> None:

    subscription = valkey.pubsub()
    subscription.subscribe(CHANNEL)
    assert subscription.get_message(timeout=2.0)["type"] == "subscribe"
    public_id = queued(api, system)
    import_execute.import_execute(public_id=public_id)
    heard: list[dict[str, Any]] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(heard) < 3 and time.monotonic() < deadline:
        message = subscription.get_message(timeout=0.1)
        if message is not None and message["type"] == "message":
            body = json.loads(message["data"])
            if body["kind"] == "interest_import":
                heard.append(body)
    subscription.close()
    expected = {
        "kind": "interest_import",
        "id": str(public_id),
        "system": str(system.public_id),
    }
    assert heard[:3] == [expected] * 3
