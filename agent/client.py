"""The control plane, as an agent calls it: session, document, report.

Three kinds of trouble, because three different things follow: `Away` (try again, go on as told
last), `Superseded` (somebody newer acts for this broker: stop acting), `Refused` (a person has to
do something).
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import weir
from agent.drivers.base import BrokerFacts, Capabilities
from weir.coordination.wire import Document, Observed, Report, document_from_dict, to_dict
from weir.errors import InvalidProblem

CONNECT_S = 5.0
ANSWER_S = 10.0
"""For any answer that the control plane does not hold back on purpose."""


class Away(Exception):
    """No usable answer: not reached, overloaded, broken. It may come back."""


class Unreadable(Away):
    """It answered with what this agent cannot read: one of the two is newer than the other."""


class Forgotten(Away):
    """It does not know our session, although nobody newer has come (`session_unknown`): its
    database has gone back. A new session is all that it needs."""


class Superseded(Exception):
    """A newer session of this broker exists (`fenced`)."""


class Refused(Exception):
    """The control plane understood and said no; the text is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a session was granted with."""

    system: str
    broker: str
    incarnation: int
    lease_s: float
    poll_s: float
    restored: str = ""
    """Why the control plane sends no documents now: its database has gone back. Empty: it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What an agent says about itself when it opens a session."""

    product: str
    address: str
    key: str = ""
    """The public key by which neighbours' agents know this one."""
    facts: BrokerFacts | None = None
    """None: the broker has not been reached yet."""
    capabilities: Capabilities | None = None
    incarnation: int = 0
    """The newest session that this agent remembers; the next one is above it."""
    number: int = 0
    """The largest document number that it has obeyed."""


class Backoff:
    """Pauses that grow from `first_s` to `longest_s`, each drawn from its upper half."""

    def __init__(self, first_s: float = 0.5, longest_s: float = 15.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def pause_s(self) -> float:
        """How long to wait now."""
        pause_s = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(2 * self._next_s, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """It went well."""
        self._next_s = self._first_s


def transport(ca_file: Path | None = None) -> httpx.AsyncClient:
    """Connections to a control plane; certificates are verified, against `ca_file` if given."""
    verify: ssl.SSLContext | bool = True
    if ca_file is not None:
        verify = ssl.create_default_context(cafile=str(ca_file))
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(
        verify=verify, limits=limits, timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S)
    )


class ControlPlane:
    """One agent's calls; many agents of one process may share `http`."""

    def __init__(
        self, url: str, credential: str, http: httpx.AsyncClient, *, patience: float = 1.0
    ) -> None:
        """`patience` multiplies all time limits, for an event loop that runs faster."""
        self.url = url.rstrip("/")
        self._http = http
        self._patience = patience
        self._headers = {"Authorization": f"Bearer {credential}"}

    async def session(self, introduction: Introduction) -> Session:
        """Open the broker's next incarnation. Raises Away, Refused."""
        facts, capabilities = introduction.facts, introduction.capabilities
        answer = await self._call(
            "POST",
            "session",
            body={
                "agent_version": weir.__version__,
                "product": introduction.product,
                "address": introduction.address,
                "key": introduction.key,
                "facts": {} if facts is None else to_dict(facts),
                "capabilities": {} if capabilities is None else to_dict(capabilities),
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
            raise Away(f"its answer to a new session lacks {error}") from error

    async def document(self, session: Session, seen: str, number: int) -> Document | None:
        """The document when it is not the one `seen`; None after a while without a change.
        `number`: the largest that was obeyed.

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
                "goes on as told last. Update the older of the two"
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
        """Say what happened and renew the lease; returns its new length in seconds. `sequence`
        rises with every call of a session: what overtakes another is told from what is late.

        Raises Away, Superseded, Refused.
        """
        answer = await self._call(
            "POST",
            "report",
            body={
                "incarnation": session.incarnation,
                "sequence": sequence,
                "reports": [to_dict(report) for report in reports],
                "observed": None if observed is None else to_dict(observed),
                "telemetry": telemetry,
            },
        )
        try:
            return float(_plain(answer)["lease_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise Away(f"its answer to a report lacks {error}") from error

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
                json=body,
                params=query,
                headers=self._headers,
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
        plain = answer.json()
    except ValueError as error:
        raise Away(
            f"{answer.url.path}: the answer is not JSON; is this the control plane?"
        ) from error
    if not isinstance(plain, dict):
        raise Away(f"{answer.url.path}: the answer is not an object")
    return plain


def _problem(answer: httpx.Response) -> tuple[str, str]:
    """Code and sentence of a problem document, or of whatever came instead."""
    try:
        plain = answer.json()
    except ValueError:
        plain = None
    if not isinstance(plain, dict):
        return "", f"{answer.url.path} answered {answer.status_code}"
    sentence = plain.get("detail") or plain.get("title") or "no reason given"
    return str(plain.get("code", "")), f"{answer.status_code}: {sentence}"
