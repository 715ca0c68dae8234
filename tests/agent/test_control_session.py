"""Reports of orders reach the control plane, at last the newest of each kind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from agent.client import ControlPlane, Session
from agent.control_session import ControlSession, Problems
from agent.store import Store
from tests.agent.planes import until
from weir.coordination.wire import Report, ReportPhase

pytestmark = pytest.mark.asyncio


async def test_what_is_said_while_the_same_is_on_its_way_is_said_too(tmp_path: Path) -> None:
    heard: list[list[str]] = []
    answer = asyncio.Event()

    async def control_plane(request: httpx.Request) -> httpx.Response:
        heard.append([report["detail"] for report in json.loads(request.content)["reports"]])
        await answer.wait()
        return httpx.Response(200, json={"lease_s": 10.0})

    store = Store(tmp_path)
    async with httpx.AsyncClient(transport=httpx.MockTransport(control_plane)) as http:
        session = ControlSession(
            ControlPlane("http://weir", "weira_x", http),
            store,
            Problems(),
            obeyed=lambda: 0,
            seen=lambda: 0,
            urgent=lambda: False,
        )
        session.use(Session(system="s", broker="a", incarnation=1, lease_s=10.0, poll_s=0.5))
        sending = asyncio.create_task(session.send_reports())
        session.queue(Report(action="x", attempt=1, phase=ReportPhase.REFUSED, detail="one"))
        await until(lambda: heard == [["one"]], "the first is on its way")
        session.queue(Report(action="x", attempt=1, phase=ReportPhase.REFUSED, detail="two"))
        answer.set()
        await until(lambda: heard == [["one"], ["two"]], "the newer one follows")
        sending.cancel()
    store.close()
