"""What the control plane's answers mean to an agent, over a real HTTP exchange."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
import pytest_asyncio

from agent.client import (
    Away,
    Backoff,
    ControlPlane,
    Forgotten,
    Introduction,
    Refused,
    Session,
    Superseded,
)
from weir.coordination.wire import Document, Observed, Report, ReportPhase, to_dict

pytestmark = pytest.mark.asyncio

SESSION = Session(system="s", broker="a", incarnation=3, lease_s=10.0, poll_s=0.5)
Answer = tuple[int, Any]


class Peer:
    """An HTTP server of one answer; keeps what was asked."""

    def __init__(self) -> None:
        self.answer: Answer = (200, {})
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        headers = {name.lower(): value for name, value in headers.items()}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked.append((head[0], headers, body))
        status, plain = self.answer
        text = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
            % (status, 0 if status == 204 else len(text), b"" if status == 204 else text)
        )
        await writer.drain()
        writer.close()


@pytest.fixture
def peer() -> Peer:
    return Peer()


@pytest_asyncio.fixture
async def control(peer: Peer) -> AsyncIterator[ControlPlane]:
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with httpx.AsyncClient() as http:
        yield ControlPlane(f"http://127.0.0.1:{port}/", "weira_x", http)
    server.close()


async def test_opens_a_session(peer: Peer, control: ControlPlane) -> None:
    peer.answer = (200, {**to_dict(SESSION), "more": 1})
    introduction = Introduction(product="nats", address="nats://h:1", incarnation=6, number=41)
    assert await control.session(introduction) == SESSION
    line, headers, body = peer.asked[0]
    assert line == "POST /agent/v1/session HTTP/1.1"
    assert headers["authorization"] == "Bearer weira_x"
    said = json.loads(body)
    assert (said["address"], said["incarnation"], said["number"]) == ("nats://h:1", 6, 41)


async def test_asks_for_what_it_has_not_seen(peer: Peer, control: ControlPlane) -> None:
    document = Document(system="s", broker="a", version="v2")
    peer.answer = (200, to_dict(document))
    assert await control.document(SESSION, "v1", 4) == document
    assert peer.asked[0][0].startswith("GET /agent/v1/document?incarnation=3&seen=v1&number=4 ")
    peer.answer = (204, None)
    assert await control.document(SESSION, "v2", 4) is None


async def test_reports(peer: Peer, control: ControlPlane) -> None:
    peer.answer = (200, {"lease_s": 12.0})
    report = Report(action="x", attempt=1, phase=ReportPhase.READY, interest=("f",))
    lease_s = await control.report(
        SESSION, sequence=3, reports=[report], observed=Observed(version="v")
    )
    assert lease_s == 12.0
    body = json.loads(peer.asked[0][2])
    assert (body["incarnation"], body["sequence"], body["telemetry"]) == (3, 3, None)
    assert body["reports"][0]["phase"] == "ready"
    assert body["observed"]["version"] == "v"


Call = Callable[[ControlPlane], Any]
CALLS: list[Call] = [
    lambda control: control.session(Introduction(product="nats", address="a")),
    lambda control: control.document(SESSION, "", 0),
    lambda control: control.report(SESSION, sequence=1),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        ((409, {"code": "fenced", "detail": "replaced by 4"}), Superseded, "replaced by 4"),
        ((401, {"code": "unknown_credential", "detail": "enrol"}), Refused, "401: enrol"),
        ((422, {"title": "Invalid"}), Refused, "422: Invalid"),
        ((409, {"code": "other", "detail": "no"}), Refused, "409: no"),
        ((409, {"code": "session_unknown", "detail": "never opened"}), Forgotten, "never"),
        ((503, b"<html>"), Away, "answered 503"),
        ((429, {"detail": "slowly"}), Away, "429: slowly"),
        ((200, b"<html>"), Away, "not JSON"),
        ((200, []), Away, "not an object"),
    ],
)
async def test_trouble_is_of_three_kinds(
    peer: Peer,
    control: ControlPlane,
    call: Call,
    answer: Answer,
    kind: type[Exception],
    says: str,
) -> None:
    peer.answer = answer
    with pytest.raises(kind, match=says):
        await call(control)


async def test_an_unreadable_document_is_as_good_as_none(peer: Peer, control: ControlPlane) -> None:
    peer.answer = (200, {"system": "s", "broker": "a", "version": "v", "flows": 3})
    with pytest.raises(Away, match=r"cannot read \(flows"):
        await control.document(SESSION, "", 0)


async def test_nobody_there_is_away() -> None:
    async with httpx.AsyncClient() as http:
        with pytest.raises(Away):
            await CALLS[1](ControlPlane("http://127.0.0.1:1", "x", http))


async def test_pauses_grow_to_a_bound_and_begin_anew() -> None:
    backoff = Backoff(1.0, 8.0)
    pauses = [backoff.pause_s() for _ in range(6)]
    for pause, upper in zip(pauses, (1, 2, 4, 8, 8, 8), strict=True):
        assert upper / 2 <= pause <= upper
    backoff.reset()
    assert backoff.pause_s() <= 1.0
