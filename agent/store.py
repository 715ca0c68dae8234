"""Store what an agent must remember over a restart: the last document, its tables, its promises.

| file | holds | written |
|---|---|---|
| `document.json` | the newest document and session | before it is carried out |
| `state.json` | forwarding tables and the participants' states | before the promise is sent |
| `lock` | nothing; locked by the one process that uses the directory | |

Every write is atomic and durable (`agent.disk`): after a crash at any instant a file is the old one
or the new one. Writes happen one after the other in the order of the calls, beside the event loop:
messages move on meanwhile, and whoever depends on a write awaits it. A write that failed changes
nothing here; `saved` is what certainly survives.

The directory has a number (`Saved.number`), which the broker remembers, to recognise an older copy.
A directory restored from a backup lacks votes: its agent would move messages that have to wait, by
outdated tables. An empty directory is harmless, since its agent knows that it knows nothing. So a
vote is sent only after the broker has recorded the number of the directory that holds it
(`StateRecorder`); an agent whose directory has a smaller number than its broker starts as if it
were empty.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.disk import Disk, FileDisk, InUse, ThreadWorker, Worker
from agent.drivers.base import Driver, DriverError
from weir.coordination.participant import ParticipantState
from weir.coordination.participant_state import Phase, state_from_dict, state_to_dict
from weir.coordination.tables import Tables, tables_from_dict, tables_to_dict
from weir.coordination.wire import Document, Report, ReportPhase, document_from_dict, to_dict
from weir.errors import InvalidProblem

log = logging.getLogger(__name__)

FORMAT = 1

_RETRY_S = 0.2

Change = Callable[[Tables], Tables]
"""A function from the tables at the time of writing to the changed tables."""


class StoreError(Exception):
    """Signal that the state directory cannot be used; the text says why and what helps."""


class Misplaced(StoreError):
    """Signal that the state directory belongs to another agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Hold the contents of the directory; everything is empty on a first start."""

    document: Document | None = None
    incarnation: int = 0
    """The newest session that this agent had."""
    tables: Tables | None = None
    """None while this agent never had tables; its document says which links there are."""
    states: Mapping[str, ParticipantState] = field(default_factory=dict)
    """Action -> the state of this participant."""
    changes: int = 0
    """The number of written promises and of changes of the links."""

    @property
    def number(self) -> int:
        """Return a number that rises with everything that must not be forgotten, documents too. The
        broker records it, so that an older copy of the directory is recognised."""
        return self.changes + (0 if self.document is None else self.document.number)


class Store:
    """Store the state of one agent in its directory, exclusively while this object is open."""

    def __init__(
        self, directory: Path, *, disk: Disk | None = None, worker: Worker | None = None
    ) -> None:
        """Lock and read the directory. Raises StoreError when another process uses it or it is
        damaged.

        `disk` and `worker` default to the file system and a thread.
        """
        self.directory = directory
        self._thread = ThreadWorker()
        self._worker = worker or self._thread
        self._turn = asyncio.Lock()
        self._jobs: set[asyncio.Task[None]] = set()
        try:
            self._disk = disk or FileDisk(directory)
        except InUse as error:
            raise StoreError(
                f"state directory {directory} is in use by another agent; "
                "every agent needs a directory of its own"
            ) from error
        except OSError as error:
            raise StoreError(f"state directory {directory}: {error.strerror}") from error
        try:
            self._saved = self._load()
        except StoreError:
            self._disk.close()
            raise

    @property
    def saved(self) -> Saved:
        """Return what the directory holds for certain."""
        return self._saved

    def close(self) -> None:
        """Release the directory after the current write; idempotent."""
        self._thread.close()
        self._disk.close()

    # --- writing; each returns when it is durable and raises StoreError when it is not

    async def save_document(self, document: Document) -> None:
        """Save the newest document of the control plane."""
        await self._do(self._write_document, lambda saved: replace(saved, document=document))

    async def save_session(self, incarnation: int) -> None:
        """Save the number of the newest session."""
        await self._do(self._write_document, lambda saved: replace(saved, incarnation=incarnation))

    async def persist(self, state: ParticipantState, tables: Tables | None = None) -> None:
        """Save the state of a participant, and with it changed tables, in one step."""
        await self._do(
            self._write_state,
            lambda saved: replace(
                saved,
                states={**saved.states, state.action: state},
                tables=saved.tables if tables is None else tables,
                changes=saved.changes + 1,
            ),
        )

    async def change_tables(self, change: Change) -> None:
        """Change the tables outside of any action (a document's links, interest)."""

        def changed(saved: Saved) -> Saved:
            before = Tables(complete=False) if saved.tables is None else saved.tables
            after = change(before)
            if after == before:
                return saved
            # The agent reads the interest of neighbours again at the broker.
            same = (after.links, after.epochs) == (before.links, before.epochs)
            return replace(saved, tables=after, changes=saved.changes + (not same))

        await self._do(self._write_state, changed)

    async def distrust(self, number: int) -> None:
        """Distrust the tables and switches, since the directory is an older copy than `number`, or
        others have acted since: links may have changed, and votes may be missing here. A switch is
        forgotten together with the tables that it made; if it is still ordered it is made again."""

        def distrusted(saved: Saved) -> Saved:
            missing = max(0, number - saved.number)
            return replace(
                saved,
                tables=Tables(complete=False),
                states={n: s for n, s in saved.states.items() if not _switched(s)},
                changes=saved.changes + missing,
            )

        await self._do(self._write_state, distrusted)

    async def forget(self, action: str) -> None:
        """Remove the state of an action that is over."""

        def without(saved: Saved) -> Saved:
            if action not in saved.states:
                return saved
            rest = {name: state for name, state in saved.states.items() if name != action}
            return replace(saved, states=rest)

        await self._do(self._write_state, without)

    async def probe(self) -> None:
        """Check that the directory can be written now. Raises StoreError."""
        await self._do(self._write_probe, lambda saved: replace(saved))

    async def _do(self, write: Callable[[Saved], None], change: Callable[[Saved], Saved]) -> None:
        # A task of its own: a caller that is cancelled must not let the next write begin.
        job = self._begin(self._in_turn(write, change))
        await asyncio.shield(job)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        job = asyncio.create_task(work, name="state directory")
        self._jobs.add(job)
        job.add_done_callback(self._ended)
        return job

    def _ended(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled():
            job.exception()  # the caller has seen it

    async def _in_turn(
        self, write: Callable[[Saved], None], change: Callable[[Saved], Saved]
    ) -> None:
        async with self._turn:
            after = change(self._saved)
            if after is self._saved:
                return
            try:
                await self._worker(partial(write, after))
            except OSError as error:
                why = error.strerror or str(error)
                raise StoreError(
                    f"state directory {self._disk.place} cannot be written ({why}): this broker "
                    "takes part in no action until it can; free space or repair the disk"
                ) from error
            self._saved = after

    def _write_document(self, saved: Saved) -> None:
        document = None if saved.document is None else to_dict(saved.document)
        plain = {"format": FORMAT, "incarnation": saved.incarnation, "document": document}
        self._disk.replace("document.json", json.dumps(plain).encode())

    def _write_state(self, saved: Saved) -> None:
        plain = {
            "format": FORMAT,
            "tables": None if saved.tables is None else tables_to_dict(saved.tables),
            "participants": [state_to_dict(state) for state in saved.states.values()],
            "changes": saved.changes,
        }
        self._disk.replace("state.json", json.dumps(plain).encode())

    def _write_probe(self, saved: Saved) -> None:
        # Write as much as the next vote does: a disk with room for a byte may have none for it.
        self._write_state(saved)

    # --- reading

    def _load(self) -> Saved:
        kept = self._read("document.json") or {}
        state = self._read("state.json") or {}
        # The file of an older agent holds only the document.
        document = kept.get("document") if "document" in kept or not kept else kept
        try:
            tables = state.get("tables")
            states = [state_from_dict(plain) for plain in state.get("participants", ())]
            return Saved(
                document=None if document is None else document_from_dict(document),
                incarnation=int(kept.get("incarnation", 0)),
                tables=None if tables is None else tables_from_dict(tables),
                states={state.action: state for state in states},
                changes=int(state.get("changes", 0)),
            )
        except (InvalidProblem, TypeError, ValueError) as error:
            raise self._damaged(str(error)) from error

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            data = self._disk.read(name)
            plain = None if data is None else json.loads(data)
        except (OSError, ValueError) as error:
            raise self._damaged(f"{name}: {error}") from error
        if data is None:
            return None
        if not isinstance(plain, dict):
            raise self._damaged(f"{name}: not an object")
        if plain.get("format", FORMAT) != FORMAT:
            raise self._damaged(f"{name}: format {plain['format']}, this agent knows {FORMAT}")
        return plain

    def _damaged(self, what: str) -> StoreError:
        return StoreError(
            f"state directory {self._disk.place} cannot be read ({what}). It may hold a promise of "
            "a running action: end that action first, then remove the directory"
        )


def _switched(state: ParticipantState) -> bool:
    # Nobody ordered a switch that a person decided, so nobody would order it again.
    return state.phase is Phase.SWITCHED and not state.by_hand


class StateRecorder:
    """Record the directory's number at one agent's broker, and hold back votes until then."""

    def __init__(self, driver: Driver, store: Store, send: Callable[[Report], None]) -> None:
        """Take `send`, which passes a report to the session with the control plane."""
        self._driver = driver
        self._store = store
        self._send = send
        self._recorded = -1
        self._behind = asyncio.Event()
        self._waiting: dict[str, Report] = {}
        """Action -> its vote that waits."""

    def send(self, report: Report) -> None:
        """Send a report, but a vote only once the number of the directory that holds it is
        recorded."""
        self._waiting.pop(report.action, None)
        if report.phase is ReportPhase.READY and self._recorded < self._store.saved.number:
            self._waiting[report.action] = report
            self._behind.set()
        else:
            self._send(report)

    def check(self) -> None:
        """Start recording when the number has risen."""
        if self._recorded < self._store.saved.number:
            self._behind.set()

    async def run(self) -> None:
        """Record the number whenever it rises, until cancelled."""
        while True:
            await self._behind.wait()
            self._behind.clear()
            number = self._store.saved.number
            votes = dict(self._waiting)
            try:
                await self._driver.note_state(number)
            except DriverError as error:
                log.info("the broker could not record the number of the state directory: %s", error)
                await asyncio.sleep(_RETRY_S)
                self._behind.set()
                continue
            self._recorded = number
            for action, report in votes.items():
                # Another report of the action may have replaced it meanwhile.
                if self._waiting.get(action) is report:
                    del self._waiting[action]
                    self._send(report)
