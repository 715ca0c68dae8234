"""The state directory: what is promised survives, what is damaged is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.store import Store, StoreError
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


def test_everything_survives(directory: Path) -> None:
    store = Store(directory)
    store.save_document(DOCUMENT)
    store.persist(VOTE, TABLES)
    store = reopened(store)
    assert store.saved.document == DOCUMENT
    assert store.saved.tables == TABLES
    assert store.saved.states == {"x": VOTE}
    store.forget("x")
    store = reopened(store)
    assert store.saved.states == {}
    assert store.saved.tables == TABLES, "the tables outlive the action"
    store.close()


def test_a_vote_without_tables_keeps_the_tables(directory: Path) -> None:
    store = Store(directory)
    store.persist_tables(TABLES)
    store.persist(VOTE)
    store = reopened(store)
    assert store.saved.tables == TABLES
    store.close()


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


def test_a_write_that_was_interrupted_changes_nothing(directory: Path) -> None:
    store = Store(directory)
    store.persist(VOTE, TABLES)
    (directory / "state.json.new").write_text('{"half')
    store = reopened(store)
    assert store.saved.states == {"x": VOTE}
    store.persist_tables(Tables())
    store.close()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="state directory"):
        Store(tmp_path / "file" / "state")
