"""Documents that go back, answers that cannot be read, parts that die: the agent goes on."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from agent.client import ControlPlane
from agent.drivers.base import Interest
from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.runtime import Runtime
from agent.store import Store
from tests.agent.disks import FullableDisk
from tests.agent.planes import until
from weir.coordination.participant_state import Phase
from weir.coordination.termination import Termination
from weir.coordination.wire import ClassSpec, Document, FlowSpec, Gate, Neighbour, to_dict

pytestmark = pytest.mark.asyncio


def document(number: int, limit: int) -> Document:
    return Document(
        system="s",
        broker="a",
        version=f"v{number}-{limit}",
        number=number,
        flows={"f": FlowSpec(ingress=True)},
        gates={"f": Gate(rate_per_s=10.0, burst=2.0)},
        classes={"k": ClassSpec(flow="f", limit=limit)},
    )


class Peer:
    """The other end of the agent protocol; what it answers is up to the test."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = to_dict(document(5, 3))
        self.incarnation = 4
        self.knows_sessions = True
        self.away: set[str] = set()
        """Calls that are answered by a proxy: the control plane is away."""
        self.answered = 0
        self.sessions: list[dict[str, Any]] = []
        self.reports: list[dict[str, Any]] = []
        self.late: asyncio.Event | None = None
        """Reports of orders are answered once it is set."""

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        what = request.url.path.rsplit("/", 1)[1]
        if what == "session":
            body = json.loads(request.content)
            self.sessions.append(body)
            self.incarnation = max(self.incarnation, body["incarnation"]) + 1
            self.knows_sessions = True
            return self._answer(
                {
                    "system": "s",
                    "broker": "a",
                    "incarnation": self.incarnation,
                    "lease_s": 10.0,
                    "poll_s": 1.0,
                    "restored": "",
                }
            )
        if not self.knows_sessions:
            problem = {"code": "session_unknown", "detail": "never opened"}
            return httpx.Response(409, json=problem)
        if what in self.away:
            return httpx.Response(503)
        self.answered += 1
        if what == "report":
            body = json.loads(request.content)
            self.reports.append(body)
            if body["reports"] and self.late is not None:
                await self.late.wait()
            return self._answer({"lease_s": 10.0})
        if request.url.params["seen"] == self.document.get("version"):
            await asyncio.sleep(0.02)
            return httpx.Response(204)
        return self._answer(self.document)

    def _answer(self, body: Mapping[str, Any]) -> httpx.Response:
        return httpx.Response(200, json=body)

    @property
    def observed(self) -> dict[str, Any]:
        return next((r["observed"] for r in reversed(self.reports) if r["observed"]), {})

    def shows(self, text: str) -> bool:
        return any(text in problem for problem in self.observed.get("problems", ()))


class Clumsy(SimulatedDriver):
    """Fails as a driver must not, so many times."""

    faults = 0

    async def interests(self) -> AsyncIterator[Mapping[str, Interest]]:
        if Clumsy.faults:
            Clumsy.faults -= 1
            raise ZeroDivisionError("a fault of the driver")
        async for heard in super().interests():
            yield heard


class Living:
    """A runtime on a virtual broker, ended and begun as often as a test wants."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.peer = Peer()
        self.network = VirtualNetwork()
        self.broker = self.network.at("sim://a")
        self.ahead_s = 0.0
        """Of the agent's clock."""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.disk = FullableDisk(self.directory)
        self.store = Store(self.directory, disk=self.disk)
        self.stop = asyncio.Event()
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self.peer))
        self.runtime = Runtime(
            control=ControlPlane("http://weir", "weira_x", self.http),
            store=self.store,
            driver=lambda name: Clumsy(network=self.network, address="sim://a", broker=name),
            product="simulated",
            address="sim://a",
            report_every_s=0.05,
            clock=lambda: time.monotonic() + self.ahead_s,
        )
        self._task = asyncio.create_task(self.runtime.run(self.stop))

    async def end(self) -> None:
        if self._task is not None:
            self.stop.set()
            await self._task
            await self.http.aclose()
            self.store.close()
        self._task = None

    @property
    def limit(self) -> int | None:
        return self.broker.book.classes["k"].limit if "k" in self.broker.book.classes else None


@pytest_asyncio.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Living]:
    agent = Living(tmp_path / "state")
    await agent.start()
    await until(lambda: agent.peer.observed.get("number") == 5, "goes by document 5")
    yield agent
    await agent.end()


async def test_a_document_with_a_smaller_number_is_not_obeyed_but_named(agent: Living) -> None:
    agent.peer.document = to_dict(document(3, 9))
    await until(
        lambda: agent.peer.shows("it sends document 3, but this agent has obeyed 5"), "told"
    )
    assert agent.limit == 3
    assert agent.peer.observed["number"] == 5
    agent.peer.document = to_dict(document(6, 7))
    await until(lambda: agent.limit == 7, "a newer one is obeyed")
    await until(lambda: not agent.peer.observed["problems"], "and it is over")


async def test_the_largest_number_survives_the_agent(agent: Living) -> None:
    await agent.end()
    agent.peer.document = to_dict(document(4, 9))
    await agent.start()
    await until(lambda: agent.peer.shows("has obeyed 5"), "told")
    assert agent.limit == 3
    assert agent.peer.sessions[-1]["number"] == 5
    assert agent.peer.sessions[-1]["incarnation"] == agent.peer.sessions[1]["incarnation"] + 1 or (
        agent.peer.sessions[-1]["incarnation"] >= 5
    )


async def test_a_session_that_was_forgotten_is_opened_anew_at_once(agent: Living) -> None:
    before = len(agent.peer.sessions)
    newest = agent.peer.incarnation
    agent.peer.incarnation = 1
    agent.peer.knows_sessions = False
    await until(lambda: len(agent.peer.sessions) > before, "a new session")
    assert agent.peer.sessions[-1]["incarnation"] == newest
    await until(lambda: agent.peer.reports[-1]["incarnation"] == newest + 1, "and it speaks")


async def test_reports_are_numbered_within_a_session(agent: Living) -> None:
    await until(lambda: len(agent.peer.reports) > 5, "reports")
    numbers = [r["sequence"] for r in agent.peer.reports]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "strange",
    [
        {"orders": [{"action": "x", "phase": "dissolve"}]},
        {"orders": [{"action": "x", "phase": "prepare", "interests": 3}]},
        {"orders": 3},
        {"flows": {"f": {"delivery": "exactly_twice"}}},
        {"neighbours": []},
        {"number": "many"},
    ],
)
async def test_a_document_that_cannot_be_read_is_a_problem_and_no_end(
    agent: Living, strange: dict[str, Any]
) -> None:
    agent.peer.document = {**to_dict(document(6, 9)), **strange}
    await until(lambda: agent.peer.shows("a document that this agent cannot read"), "told")
    assert agent.limit == 3
    agent.peer.document = to_dict(document(7, 8))
    await until(lambda: agent.limit == 8, "the next one is obeyed")


async def test_an_unknown_kind_of_action_is_refused_and_the_rest_obeyed(agent: Living) -> None:
    order = {
        "action": "x",
        "attempt": 1,
        "kind": "split_broker",
        "phase": "prepare",
        "role": "i",
        "peers": {"i": "a"},
    }
    agent.peer.document = {**to_dict(document(6, 9)), "orders": [order]}
    await until(lambda: agent.limit == 9, "obeyed")
    said = [report for r in agent.peer.reports for report in r["reports"]]
    assert {r["phase"] for r in said} == {"refused"}
    assert "does not know the action 'split_broker'" in said[0]["detail"]


async def test_a_document_is_carried_out_once_it_is_on_the_disk(agent: Living) -> None:
    agent.disk.full = lambda name, data: True
    agent.peer.document = to_dict(document(6, 9))
    await until(lambda: agent.peer.shows("cannot be written"), "told")
    assert agent.limit == 3
    agent.disk.full = lambda name, data: False
    await until(lambda: agent.limit == 9, "carried out")
    assert agent.store.saved.document == document(6, 9)
    await until(lambda: not agent.peer.observed["problems"], "it is over")


async def test_a_part_that_dies_begins_a_new_life_and_is_told(agent: Living) -> None:
    await agent.end()
    Clumsy.faults = 1
    await agent.start()
    await until(lambda: agent.peer.shows("restarted after an internal error"), "told")
    assert Clumsy.faults == 0
    agent.peer.document = to_dict(document(6, 9))
    await until(lambda: agent.limit == 9, "and it lives")


async def test_what_is_said_again_while_it_is_being_said_is_not_lost(agent: Living) -> None:
    from weir.coordination.wire import Report, ReportPhase

    agent.peer.late = asyncio.Event()
    session = agent.runtime._session
    session.queue(Report(action="x", attempt=1, phase=ReportPhase.READY, interest=("old",)))
    await until(lambda: any(r["reports"] for r in agent.peer.reports), "said")
    session.queue(Report(action="x", attempt=1, phase=ReportPhase.READY, interest=("new",)))
    agent.peer.late.set()
    await until(
        lambda: any(
            r["reports"][0]["interest"] == ["new"] for r in agent.peer.reports if r["reports"]
        ),
        "the newer one too",
    )


@pytest.mark.parametrize("away", ["report", "document"])
async def test_an_attempt_is_doubted_only_while_the_control_plane_answers_nothing(
    agent: Living, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    monkeypatch.setattr(Termination, "doubt_s", 100.0)
    monkeypatch.setattr(Termination, "patience_s", 100_000.0)
    for broker in ("sim://b", "sim://c"):
        agent.network.at(broker)
    order = {
        **{"action": "x", "attempt": 1, "kind": "shift_link", "phase": "prepare", "role": "i"},
        **{"peers": {"i": "a", "j": "b", "k": "c"}, "addresses": {"c": "sim://c"}},
    }
    told = replace(document(6, 9), neighbours={"b": Neighbour(address="sim://b")})
    agent.peer.document = to_dict(told)
    await until(lambda: agent.limit == 9, "obeyed")
    agent.peer.document = {**to_dict(replace(told, version="v7", number=7)), "orders": [order]}
    await until(lambda: "x" in agent.store.saved.states, "takes part, and waits for b's mark")

    agent.peer.away = {away}
    for _ in range(3):
        agent.ahead_s += 60.0
        before = agent.peer.answered
        await until(lambda n=before: agent.peer.answered > n + 3, "the other call is answered")
    assert agent.store.saved.states["x"].phase is Phase.PREPARING
    agent.peer.away = {"report", "document"}

    def refused() -> bool:
        agent.ahead_s += 50.0
        return agent.store.saved.states["x"].phase is Phase.REFUSED

    await until(refused, "doubts it")
    assert "heard no outcome in time" in agent.store.saved.states["x"].detail
