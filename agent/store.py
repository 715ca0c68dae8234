"""What an agent must remember over its own death: the last document, its tables, its promises.

| file | holds | written |
|---|---|---|
| `document.json` | the document that was fetched last | before it is carried out |
| `state.json` | forwarding tables and the participants' states | before the promise is spoken |
| `lock` | nothing; held by the one process that uses the directory | |

Every write is atomic (write beside, fsync, rename, fsync the directory): after a crash at any
instant a file is the old one or the new one. The functions block for one disk flush; they are
called in order and before the step that depends on them, so they do not run in a thread.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weir.coordination.participant import ParticipantState, state_from_dict, state_to_dict
from weir.coordination.tables import Tables, tables_from_dict, tables_to_dict
from weir.coordination.wire import Document, document_from_dict, to_dict
from weir.errors import InvalidProblem

FORMAT = 1


class StoreError(Exception):
    """The state directory cannot be used; the text says why and what helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What was found in the directory; everything empty on a first start."""

    document: Document | None = None
    tables: Tables | None = None
    """None: this agent never had tables; its document says which links there are."""
    states: Mapping[str, ParticipantState] = field(default_factory=dict)
    """Action -> where this participant stands."""


class Store:
    """One agent's directory, its alone while this object is open."""

    def __init__(self, directory: Path) -> None:
        """Takes the directory. Raises StoreError when another process has it or it is damaged."""
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"state directory {directory}: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise StoreError(
                f"state directory {directory} is in use by another agent; "
                "every agent needs a directory of its own"
            ) from error
        try:
            saved = self._load()
        except StoreError:
            self.close()
            raise
        self._document = saved.document
        self._tables = saved.tables
        self._states = dict(saved.states)

    @property
    def saved(self) -> Saved:
        """What the directory holds now."""
        return Saved(document=self._document, tables=self._tables, states=dict(self._states))

    def close(self) -> None:
        """Give the directory back; idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def save_document(self, document: Document) -> None:
        """This is what the control plane wants now."""
        self._write("document.json", to_dict(document))
        self._document = document

    def persist(self, state: ParticipantState, tables: Tables | None = None) -> None:
        """Where a participant stands, and with it the tables when they change; in one step."""
        self._states[state.action] = state
        if tables is not None:
            self._tables = tables
        self._save()

    def persist_tables(self, tables: Tables) -> None:
        """The tables have changed outside of any action (a document's links, interest)."""
        if tables != self._tables:
            self._tables = tables
            self._save()

    def forget(self, action: str) -> None:
        """An action is over."""
        if self._states.pop(action, None) is not None:
            self._save()

    def _save(self) -> None:
        self._write(
            "state.json",
            {
                "format": FORMAT,
                "tables": None if self._tables is None else tables_to_dict(self._tables),
                "participants": [state_to_dict(state) for state in self._states.values()],
            },
        )

    def _load(self) -> Saved:
        document = self._read("document.json")
        state = self._read("state.json")
        try:
            tables = (state or {}).get("tables")
            states = [state_from_dict(plain) for plain in (state or {}).get("participants", ())]
            return Saved(
                document=None if document is None else document_from_dict(document),
                tables=None if tables is None else tables_from_dict(tables),
                states={state.action: state for state in states},
            )
        except InvalidProblem as error:
            raise self._damaged(str(error)) from error

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            plain = json.loads((self.directory / name).read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise self._damaged(f"{name}: {error}") from error
        if not isinstance(plain, dict):
            raise self._damaged(f"{name}: not an object")
        if plain.get("format", FORMAT) != FORMAT:
            raise self._damaged(f"{name}: format {plain['format']}, this agent knows {FORMAT}")
        return plain

    def _damaged(self, what: str) -> StoreError:
        return StoreError(
            f"state directory {self.directory} cannot be read ({what}). It may hold a promise of a "
            "running action: end that action first, then remove the directory"
        )

    def _write(self, name: str, plain: Mapping[str, Any]) -> None:
        path = self.directory / name
        new = path.with_name(name + ".new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(plain, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
            directory = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise StoreError(f"state directory {self.directory}: {error}") from error
