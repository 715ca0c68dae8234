"""Keep the record of one reader at the broker, and have the agent do what a reader may not.

The record says what the reader wants and where it reads that. It is written with its revision, so
that of two readers of one name one is second, and names the *life* that wrote it: a process that
has connected under this name.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from nats import errors

from weir_client import subjects
from weir_client.keeping import CONFLICT, ENVELOPE, line_and_record, lined

ANSWER_S = 2.0


class Refused(errors.Error):
    """Signal that the agent refused a request; `reason` is its own word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Superseded(Exception):
    """Signal that another reader has connected under this name."""


class Stored(NamedTuple):
    """A record as the broker has it."""

    revision: int
    """0: there is none."""
    life: str
    state: Any
    """None: there is none."""


class Record:
    """The record of one reader, and its requests to the agent."""

    def __init__(self, client: Any, name: str) -> None:
        self.name = name
        # Later lives are greater, by the clocks of their machines.
        self.life = f"{time.time_ns() // 1_000:016x}{secrets.token_hex(4)}"
        self.revision = 0
        """Of which the next one is the successor."""
        self._client = client
        self._subject = subjects.read_subject(name)

    @property
    def most_bytes(self) -> int:
        """Return how large a state the broker takes."""
        return int(self._client.max_payload) - ENVELOPE

    async def request(self, do: str, **fields: Any) -> dict[str, Any]:
        """Have the agent do something; return its answer. Raises Refused, and what the client of
        NATS raises."""
        return (await self._request({"do": do, **fields}))[0]

    async def post(self, do: str, **fields: Any) -> None:
        """Have the agent do something, without an answer. Raises what the client of NATS raises."""
        nobody = f"{subjects.reader_inbox(self.name)}.nobody"
        await self._client.publish(self._subject, lined({"do": do, **fields}), reply=nobody)

    async def _request(
        self, line: Mapping[str, Any], record: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        message = await self._client.request(self._subject, lined(line, record), timeout=ANSWER_S)
        try:
            answer, rest = line_and_record(message.data)
        except ValueError as error:
            raise Refused(str(error)) from error
        if "error" in answer:
            raise Refused(str(answer["error"]))
        return answer, rest

    async def load(self) -> Stored:
        """Return what is kept now. Raises ValueError for what no reader has written."""
        answer, record = await self._request({"do": "record"})
        revision, life = int(answer["revision"]), str(answer["life"])
        try:
            return Stored(revision, life, json.loads(record) if revision else None)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the record of reader {self.name!r} is unreadable") from error

    async def take_over(self) -> Any:
        """Return the state that an earlier life has kept, to be kept in the name of this one."""
        stored = await self.load()
        self.revision = stored.revision
        return stored.state

    async def keep(self, state: Mapping[str, Any]) -> None:
        """Keep a state. Raises Refused, also where somebody else has kept one meanwhile, and what
        the client of NATS raises."""
        line = {"do": "keep", "life": self.life, "revision": self.revision}
        record = json.dumps(state, separators=(",", ":")).encode()
        self.revision = int((await self._request(line, record))[0]["revision"])

    async def settle_conflict(self) -> bool:
        """Find out what else is kept; return whether the broker has an older disk. Raises
        Superseded, and what the client of NATS raises."""
        stored = await self.load()
        # A smaller revision is of an older disk, which may have an earlier life's.
        is_later = stored.revision > self.revision or stored.life > self.life
        if stored.life not in ("", self.life) and is_later:
            raise Superseded(f"another reader has connected as {self.name!r}")
        is_older = 0 < stored.revision < self.revision
        # Else it was written before, without an answer, or forgotten.
        self.revision = stored.revision
        return is_older


def is_conflict(error: Refused) -> bool:
    """Return whether a state was not kept because there is another one by now."""
    return error.reason == CONFLICT
