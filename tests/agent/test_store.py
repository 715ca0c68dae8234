"""The state directory: what is promised survives, what is damaged is told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent import disk
from agent.store import Store, StoreError
from tests.agent.disks import ForgetfulSystem, FullableDisk, PowerCut
from weir.coordination.participant import ParticipantState, Phase
from weir.coordination.tables import Tables
from weir.coordination.wire import ClassSpec, Delivery, Document, FlowSpec, Gate, Neighbour

DOCUMENT = Document(
    system="s",
    broker="a",
    version="v",
    flows={"f": FlowSpec(delivery=Delivery.RELIABLE, ingress=True)},
    gates={"f": Gate(rate_per_s=1.5, burst=2.0)},
    classes={"k": ClassSpec(flow="f", limit=3)},
    neighbours={"b": Neighbour(address="nats://b:4222")},
)
TABLES = Tables(links=frozenset({"b"}), interest={"b": frozenset({"f"})}, epochs={"b": "x"})
VOTE = ParticipantState(
    action="x",
    attempt=2,
    kind="shift_link",
    role="i",
    peers={"i": "a", "j": "b", "k": "c"},
    phase=Phase.READY,
    interest=("f",),
    paused_at=12.5,
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state"


def reopened(store: Store) -> Store:
    store.close()
    return Store(store.directory)


def test_a_new_directory_is_empty(directory: Path) -> None:
    store = Store(directory)
    assert (store.saved.document, store.saved.tables, store.saved.states) == (None, None, {})
    assert directory.stat().st_mode & 0o077 == 0
    store.close()


@pytest.mark.asyncio
async def test_everything_survives(directory: Path) -> None:
    store = Store(directory)
    await store.save_document(DOCUMENT)
    await store.save_session(7)
    await store.persist(VOTE, TABLES)
    store = reopened(store)
    assert store.saved.document == DOCUMENT
    assert store.saved.incarnation == 7
    assert store.saved.tables == TABLES
    assert store.saved.states == {"x": VOTE}
    await store.forget("x")
    store = reopened(store)
    assert store.saved.states == {}
    assert store.saved.tables == TABLES, "the tables outlive the action"
    store.close()


@pytest.mark.asyncio
async def test_a_vote_without_tables_keeps_the_tables(directory: Path) -> None:
    store = Store(directory)
    await store.change_tables(lambda tables: TABLES)
    await store.persist(VOTE)
    store = reopened(store)
    assert store.saved.tables == TABLES
    store.close()


def test_tables_that_do_not_say_that_they_are_complete_are_not(directory: Path) -> None:
    """An agent of before may have died between the first of its links and the second."""
    Store(directory).close()
    (directory / "state.json").write_text(
        '{"tables": {"links": ["b"], "interest": {}, "epochs": {}}}'
    )
    store = Store(directory)
    assert store.saved.tables is not None
    assert not store.saved.tables.complete
    store.close()


def test_a_document_of_an_older_agent_is_read(directory: Path) -> None:
    Store(directory).close()
    (directory / "document.json").write_text(
        '{"system": "s", "broker": "a", "version": "v", "format": 1}'
    )
    store = Store(directory)
    assert store.saved.document == Document(system="s", broker="a", version="v")
    store.close()


class TestPowerCuts:
    """What is on the disk, whenever the power goes; not whether somebody called for a flush."""

    def write(self, system: ForgetfulSystem, directory: Path, *texts: bytes) -> None:
        kept = disk.FileDisk.__new__(disk.FileDisk)
        kept.directory, kept._lock = directory, 0
        for text in texts:
            kept.replace("state.json", text)

    def test_what_was_written_is_there(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        system = ForgetfulSystem()
        monkeypatch.setattr(disk, "os", system)
        self.write(system, directory, b"old", b"new and longer")
        assert system.possible(directory / "state.json") == {b"new and longer"}

    def test_what_was_being_written_is_old_or_new(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = ForgetfulSystem()
        monkeypatch.setattr(disk, "os", whole)
        self.write(whole, directory, b"old")
        first = whole.calls
        self.write(whole, directory, b"new and longer")
        for after in range(first, whole.calls):
            system = ForgetfulSystem(after)
            monkeypatch.setattr(disk, "os", system)
            with pytest.raises(PowerCut):
                self.write(system, directory, b"old", b"new and longer")
            assert system.possible(directory / "state.json") <= {b"old", b"new and longer"}


@pytest.mark.asyncio
async def test_a_write_that_failed_is_not_remembered(directory: Path) -> None:
    kept = FullableDisk(directory)
    store = Store(directory, disk=kept)
    await store.change_tables(lambda tables: TABLES)
    kept.full = lambda name, data: True
    with pytest.raises(StoreError, match=f"{directory} cannot be written .No space left"):
        await store.persist(VOTE, Tables())
    with pytest.raises(StoreError, match="cannot be written"):
        await store.probe()
    assert (store.saved.states, store.saved.tables) == ({}, TABLES)
    kept.full = lambda name, data: False
    await store.probe()
    await store.persist(VOTE)
    store = reopened(store)
    assert (store.saved.states, store.saved.tables) == ({"x": VOTE}, TABLES)
    store.close()


@pytest.mark.asyncio
async def test_a_slow_disk_does_not_hold_up_the_loop_and_keeps_the_order(directory: Path) -> None:
    """The write waits for something that only the loop can bring about."""
    moved_on = threading.Event()
    kept = FullableDisk(directory)

    def slow(name: str, data: bytes) -> bool:
        return not moved_on.wait(10)

    kept.full = slow
    store = Store(directory, disk=kept)
    first = asyncio.create_task(store.persist(VOTE, TABLES))
    second = asyncio.create_task(store.forget("x"))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(moved_on.set)
    await asyncio.gather(first, second)
    store = reopened(store)
    assert (store.saved.states, store.saved.tables) == ({}, TABLES)
    store.close()


@pytest.mark.asyncio
async def test_who_gives_up_waiting_does_not_mix_two_writes(directory: Path) -> None:
    writing, go_on = threading.Event(), threading.Event()
    kept = FullableDisk(directory)

    def slow(name: str, data: bytes) -> bool:
        writing.set()
        return not go_on.wait(10)

    kept.full = slow
    store = Store(directory, disk=kept)
    first = asyncio.create_task(store.persist(VOTE))
    await asyncio.to_thread(writing.wait, 10)
    first.cancel()
    second = asyncio.create_task(store.change_tables(lambda tables: TABLES))
    await asyncio.gather(first, return_exceptions=True)
    go_on.set()
    await second
    store = reopened(store)
    assert (store.saved.states, store.saved.tables) == ({"x": VOTE}, TABLES)
    store.close()


@pytest.mark.asyncio
async def test_what_waits_for_its_turn_is_not_written_over_a_successors(directory: Path) -> None:
    """An agent that ends gives the directory back while writes wait for one another."""
    writing, go_on = threading.Event(), threading.Event()
    kept = FullableDisk(directory)

    def slow(name: str, data: bytes) -> bool:
        writing.set()
        return not go_on.wait(10)

    kept.full = slow
    store = Store(directory, disk=kept)
    first = asyncio.create_task(store.persist(VOTE))
    await asyncio.to_thread(writing.wait, 10)
    waiting = asyncio.create_task(store.forget("x"))
    await asyncio.sleep(0)
    go_on.set()
    store.close()
    successor = Store(directory)
    await first
    with pytest.raises(StoreError, match="cannot be written"):
        await waiting
    successor = reopened(successor)
    assert successor.saved.states == {"x": VOTE}
    successor.close()


def test_two_agents_cannot_share_it(directory: Path) -> None:
    store = Store(directory)
    with pytest.raises(StoreError, match="in use by another agent"):
        Store(directory)
    store.close()
    Store(directory).close()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("state.json", "{", "state.json"),
        ("state.json", "[]", "not an object"),
        ("state.json", '{"format": 9}', "format 9"),
        ("state.json", '{"participants": [{"action": "x"}]}', "participant's state"),
        ("state.json", '{"tables": {"links": []}}', "forwarding tables"),
        ("document.json", '{"flows": 3}', "flows"),
    ],
)
def test_a_damaged_directory_is_told_not_overwritten(
    directory: Path, name: str, text: str, says: str
) -> None:
    Store(directory).close()
    (directory / name).write_text(text)
    with pytest.raises(StoreError, match=says):
        Store(directory)
    assert (directory / name).read_text() == text


@pytest.mark.asyncio
async def test_a_write_that_was_interrupted_changes_nothing(directory: Path) -> None:
    store = Store(directory)
    await store.persist(VOTE, TABLES)
    (directory / "state.json.new").write_text('{"half')
    store = reopened(store)
    assert store.saved.states == {"x": VOTE}
    await store.change_tables(lambda tables: Tables())
    store.close()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="state directory"):
        Store(tmp_path / "file" / "state")


@pytest.mark.asyncio
async def test_a_switch_is_doubted_with_the_tables_that_it_made(directory: Path) -> None:
    """Else the order to switch, which still stands, would change nothing. Votes hold."""
    store = Store(directory)
    by_hand = replace(VOTE, action="h", phase=Phase.SWITCHED, by_hand="Olga decided")
    for state in (VOTE, replace(VOTE, action="y", phase=Phase.SWITCHED), by_hand):
        await store.persist(state, TABLES)
    await store.distrust(store.saved.number + 3)
    store = reopened(store)
    assert (store.saved.tables, store.saved.states) == (
        Tables(complete=False),
        {"x": VOTE, "h": by_hand},
    )
    store.close()
