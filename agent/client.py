"""Call the control plane as an agent does: open a session, fetch the document, send a report.

There are three kinds of errors because the agent reacts in three ways: after `Away` it tries again
and goes on with the last document, after `Superseded` it stops acting because a newer agent acts
for this broker, after `Refused` a person has to do something.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

import weir
from agent.drivers.base import BrokerFacts, Capabilities
from weir.coordination.wire import Document, Observed, Report, document_from_dict
from weir.errors import InvalidProblem

JSON = {"Content-Type": "application/json"}
CONNECT_S = 5.0
ANSWER_S = 10.0
"""The limit for any answer that the control plane does not delay on purpose."""


class Away(Exception):
    """Signal that no usable answer came because the control plane was unreachable, overloaded or
    broken; a later call may succeed."""


class Unreadable(Away):
    """Signal an answer that this agent cannot read because one of the two programs is newer."""


class Forgotten(Away):
    """Signal that the control plane does not know the session although no newer one exists
    (`session_unknown`). Its database was restored from a backup; the agent opens a new session."""


class Superseded(Exception):
    """Signal that a newer session of this broker exists (`fenced`)."""


class Refused(Exception):
    """Signal that the control plane understood the call and refused it; the text is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Describe a session that the control plane has opened."""

    system: str
    broker: str
    incarnation: int
    lease_s: float
    poll_s: float
    restored: str = ""
    """Why the control plane sends no documents now: its database was restored from a backup. Empty
    while it sends them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """Describe the agent to the control plane when it opens a session."""

    product: str
    address: str
    key: str = ""
    """The public key by which neighbours' agents identify this one."""
    facts: BrokerFacts | None = None
    """None until the agent has reached the broker."""
    capabilities: Capabilities | None = None
    incarnation: int = 0
    """The newest session that this agent remembers; the next one has a larger number."""
    number: int = 0
    """The largest document number that the agent has obeyed."""


class Backoff:
    """Compute pauses that grow from `first_s` to `longest_s`, each drawn from its upper half."""

    def __init__(self, first_s: float = 0.5, longest_s: float = 15.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def pause_s(self) -> float:
        """Return how long to wait now, and lengthen the next pause."""
        pause_s = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(2 * self._next_s, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Return to the shortest pause, after a success."""
        self._next_s = self._first_s


def transport(ca_file: Path | None = None) -> httpx.AsyncClient:
    """Return an HTTP client for the control plane; it verifies certificates, against `ca_file` if
    given."""
    verify: ssl.SSLContext | bool = True
    if ca_file is not None:
        verify = ssl.create_default_context(cafile=str(ca_file))
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(
        verify=verify, limits=limits, timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S)
    )


class ControlPlane:
    """Make the calls of one agent; many agents of one process may share `http`."""

    def __init__(
        self, url: str, credential: str, http: httpx.AsyncClient, *, patience: float = 1.0
    ) -> None:
        """Take `patience`, which multiplies all time limits for an event loop that runs faster."""
        self.url = url.rstrip("/")
        self._http = http
        self._patience = patience
        self._headers = {"Authorization": f"Bearer {credential}"}

    async def session(self, introduction: Introduction) -> Session:
        """Open a new session of the broker. Raises Away, Refused."""
        facts, capabilities = introduction.facts, introduction.capabilities
        answer = await self._call(
            "POST",
            "session",
            body={
                "agent_version": weir.__version__,
                "product": introduction.product,
                "address": introduction.address,
                "key": introduction.key,
                "facts": {} if facts is None else facts,
                "capabilities": {} if capabilities is None else capabilities,
                "incarnation": introduction.incarnation,
                "number": introduction.number,
            },
        )
        plain = _plain(answer)
        try:
            return Session(
                system=str(plain["system"]),
                broker=str(plain["broker"]),
                incarnation=int(plain["incarnation"]),
                lease_s=float(plain["lease_s"]),
                poll_s=float(plain["poll_s"]),
                restored=str(plain.get("restored", "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Away(f"the control plane's answer to a new session lacks {error}") from error

    async def document(self, session: Session, seen: str, number: int) -> Document | None:
        """Return the document when its version is not `seen`; None after a while without a change.
        `number` is the largest document number that was obeyed.

        Raises Away, Superseded, Refused.
        """
        answer = await self._call(
            "GET",
            "document",
            query={"incarnation": session.incarnation, "seen": seen, "number": number},
            timeout_s=session.poll_s + ANSWER_S,
        )
        if answer.status_code == 204:
            return None
        try:
            return document_from_dict(_plain(answer))
        except InvalidProblem as error:
            raise Unreadable(
                f"the control plane sends a document that this agent cannot read ({error}); it "
                "goes on with the last document it could read. Update the older of the two"
            ) from error

    async def report(
        self,
        session: Session,
        *,
        sequence: int,
        reports: Iterable[Report] = (),
        observed: Observed | None = None,
        telemetry: Mapping[str, Any] | None = None,
    ) -> float:
        """Report what happened and renew the lease; return its new length in seconds. `sequence`
        rises with every call of a session, so that the control plane recognises a late report.

        Raises Away, Superseded, Refused.
        """
        answer = await self._call(
            "POST",
            "report",
            body={
                "incarnation": session.incarnation,
                "sequence": sequence,
                "reports": list(reports),
                "observed": observed,
                "telemetry": telemetry,
            },
        )
        try:
            return float(_plain(answer)["lease_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise Away(f"the control plane's answer to a report lacks {error}") from error

    async def _call(
        self,
        method: str,
        command: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        timeout_s: float = ANSWER_S,
    ) -> httpx.Response:
        try:
            answer = await self._http.request(
                method,
                f"{self.url}/agent/v1/{command}",
                content=None if body is None else msgspec.json.encode(body),
                params=query,
                headers=self._headers if body is None else {**self._headers, **JSON},
                timeout=httpx.Timeout(
                    timeout_s * self._patience, connect=CONNECT_S * self._patience
                ),
            )
        except httpx.HTTPError as error:
            raise Away(str(error) or type(error).__name__) from error
        if answer.is_success:
            return answer
        code, detail = _problem(answer)
        if answer.status_code == 409 and code == "fenced":
            raise Superseded(detail)
        if answer.status_code == 409 and code == "session_unknown":
            raise Forgotten(detail)
        if answer.status_code in (408, 425, 429) or answer.status_code >= 500:
            raise Away(detail)
        raise Refused(detail)


def _plain(answer: httpx.Response) -> dict[str, Any]:
    try:
        plain = msgspec.json.decode(answer.content)
    except ValueError as error:
        raise Away(
            f"{answer.url.path}: the answer is not JSON; is this the control plane?"
        ) from error
    if not isinstance(plain, dict):
        raise Away(f"{answer.url.path}: the answer is not an object")
    return plain


def _problem(answer: httpx.Response) -> tuple[str, str]:
    """Return the code and the sentence of a problem document, or of whatever came instead."""
    try:
        plain = answer.json()
    except ValueError:
        plain = None
    if not isinstance(plain, dict):
        return "", f"{answer.url.path} answered {answer.status_code}"
    sentence = plain.get("detail") or plain.get("title") or "no reason given"
    return str(plain.get("code", "")), f"{answer.status_code}: {sentence}"
