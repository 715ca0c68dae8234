"""The control plane is lost inside a shift: whole agents, real brokers, the real database.

Reliable messages flow all the time. While the control plane stays away they have to flow again,
unless nobody can know the outcome; then the agents say so, and a person decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import nats
import nats.errors
import pytest

from agent.__main__ import main
from agent.drivers.nats.server_config import AGENT_USER
from apps.executions.models import ExecutionAction
from apps.executions.selectors import edges_in_force
from tests.agent.brokers import Broker
from tests.agent.test_runtime import (
    Beside,
    brokers,
    harbour,
    loop,
    settled,
    until,
)
from tests.factories.fleet import Harbour, Loop, shift, start

__all__ = ["brokers", "harbour", "loop"]

pytestmark = [pytest.mark.stack, pytest.mark.slow]

ROW = frozenset({("a", "b"), ("b", "c"), ("c", "d")})
SHIFTED = frozenset({("a", "c"), ("b", "c"), ("c", "d")})
LONG_S = 60.0
"""More than anything takes, also where others compute on the same machine."""


class Line(httpx.AsyncBaseTransport):
    """The way to the control plane. It breaks for everybody once `breaks` says so of an answer,
    which then does not arrive."""

    def __init__(self, inner: httpx.AsyncBaseTransport, brokers: dict[str, str]) -> None:
        self._inner = inner
        self.brokers = brokers
        self.down = False
        self.breaks: Callable[[str, set[str]], bool] = lambda broker, phases: False
        """Of a document: for whom, and the phases of its orders."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("away")
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        answer = httpx.Response(answer.status_code, headers=answer.headers, content=body)
        self.down |= self.breaks(self.broker(request), self.phases(request, answer))
        if self.down:
            raise httpx.ConnectError("away")
        return answer

    def broker(self, request: httpx.Request) -> str:
        """Whose agent asks."""
        return self.brokers[request.headers["Authorization"].partition(" ")[2]]

    def phases(self, request: httpx.Request, answer: httpx.Response) -> set[str]:
        """Of the orders in a document; none of every other answer."""
        if not request.url.path.endswith("/document") or answer.status_code != 200:
            return set()
        return {order["phase"] for order in answer.json()["orders"]}


@pytest.fixture
def line(loop: Loop) -> Line:
    """In place before the first agent asks for a document."""
    line = Line(loop.client._transport, {})
    loop.client._transport = line
    return line


@pytest.fixture
def agents(
    loop: Loop, line: Line, harbour: Harbour, brokers: dict[str, Broker], tmp_path: Path
) -> Iterator[dict[str, Beside]]:
    agents = {
        name: Beside(loop, harbour, broker, tmp_path / name) for name, broker in brokers.items()
    }
    line.brokers |= {agent.credential: name for name, agent in agents.items()}
    for agent in agents.values():
        agent.start()
    until(lambda: all(agent.acts for agent in agents.values()), "all have a document", LONG_S)
    yield agents
    for agent in agents.values():
        agent.stop()


class Traffic:
    """A publisher at a that numbers what is acknowledged, and what has been delivered at c."""

    def __init__(self, brokers: dict[str, Broker]) -> None:
        self._brokers = brokers
        self._enough = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._publish()), daemon=True)
        self.acknowledged = 0
        self._thread.start()

    async def _publish(self) -> None:
        connection = await _client(self._brokers["a"])
        js = connection.jetstream()
        while not self._enough.is_set():
            number = self.acknowledged + 1
            # What gets no answer in time is sent again under the same id, and stored once.
            with contextlib.suppress(nats.errors.Error):
                identity = {"Nats-Msg-Id": str(number)}
                await js.publish("weir.in.tides", b"%d" % number, timeout=10, headers=identity)
                self.acknowledged = number
            await asyncio.sleep(0.005)
        await connection.close()

    def delivered(self) -> int:
        async def count() -> int:
            connection = await _client(self._brokers["c"])
            info = await connection.jetstream().stream_info("WEIR_MSG_tides")
            await connection.close()
            return int(info.state.messages)

        return asyncio.run(count())

    def flows_again(self) -> None:
        """What is published from now on is delivered, too."""
        enough = self.acknowledged + 20
        until(lambda: self.delivered() > enough, "messages are delivered again", LONG_S)

    def all_arrived(self) -> None:
        """Each message once, in order."""
        self._enough.set()
        self._thread.join(LONG_S)
        until(lambda: self.delivered() >= self.acknowledged, "all are delivered", LONG_S)

        async def read() -> list[bytes]:
            connection = await _client(self._brokers["c"])
            js = connection.jetstream()
            reader = await js.subscribe("", stream="WEIR_MSG_tides", ordered_consumer=True)
            got = [(await reader.next_msg(timeout=60)).data for _ in range(self.acknowledged)]
            await connection.close()
            return got

        assert asyncio.run(read()) == [b"%d" % n for n in range(1, self.acknowledged + 1)]


async def _client(broker: Broker) -> Any:
    return await nats.connect(
        broker.url, user=AGENT_USER, password=broker.secrets.agent_password, connect_timeout=10
    )


@pytest.fixture
def traffic(agents: dict[str, Beside], brokers: dict[str, Broker]) -> Iterator[Traffic]:
    traffic = Traffic(brokers)
    # All links are there and all neighbours have said what they want.
    until(lambda: traffic.acknowledged > 20, "somebody publishes", LONG_S)
    traffic.flows_again()
    yield traffic
    traffic._enough.set()
    traffic._thread.join(10)


def _phases(agents: dict[str, Beside]) -> list[str]:
    """What stands on the disks of the three that take part."""
    said = []
    for name in "abc":
        plain = json.loads((agents[name].state / "state.json").read_text())
        said += [state["phase"] for state in plain["participants"]]
    return said


def _links(agents: dict[str, Beside]) -> frozenset[tuple[str, str]]:
    pairs = set()
    for name, agent in agents.items():
        plain = json.loads((agent.state / "state.json").read_text())
        pairs |= {tuple(sorted((name, other))) for other in plain["tables"]["links"]}
    return frozenset(pairs)


def _comes_to_rest(line: Line, execution: Any, agents: dict[str, Beside]) -> None:
    line.breaks = lambda broker, phases: False
    line.down = False
    until(lambda: settled(execution), "the execution ends", LONG_S)
    until(lambda: not _phases(agents), "nobody remembers it", LONG_S)


def test_lost_before_one_has_heard_of_the_attempt(line, harbour: Harbour, agents, traffic) -> None:
    line.breaks = lambda broker, phases: broker == "c" and "prepare" in phases
    execution = start(harbour.system, [shift("a", "b", "c")])
    until(lambda: line.down, "the control plane is lost", LONG_S)
    traffic.flows_again()
    assert _links(agents) == ROW
    assert "ready" not in _phases(agents)
    _comes_to_rest(line, execution, agents)
    traffic.all_arrived()
    assert _links(agents) == edges_in_force(harbour.system)


@pytest.mark.parametrize("heard", ["a", "b", "c"])
def test_lost_when_one_has_heard_the_commit(
    line, harbour: Harbour, agents, traffic, heard: str
) -> None:
    reached: list[str] = []
    whole = line.handle_async_request

    async def in_turn(request: httpx.Request) -> httpx.Response:
        """Only the one hears of the commit, then the line breaks."""
        answer = await whole(request)
        phases = line.phases(request, answer)
        if "commit" in phases and line.broker(request) == heard:
            reached.append(heard)
        elif "commit" in phases:
            while not reached:
                await asyncio.sleep(0.01)
            line.down = True
            raise httpx.ConnectError("away")
        return answer

    line.handle_async_request = in_turn
    execution = start(harbour.system, [shift("a", "b", "c")])
    until(lambda: line.down, "the control plane is lost", LONG_S)
    traffic.flows_again()
    until(lambda: _links(agents) == SHIFTED, "all have switched", LONG_S)
    assert _phases(agents) == ["switched"] * 3
    line.handle_async_request = whole
    _comes_to_rest(line, execution, agents)
    assert execution.state == "succeeded", execution.failure
    traffic.all_arrived()
    assert edges_in_force(harbour.system) == SHIFTED


@pytest.mark.parametrize("outcome", ["commit", "abort"])
def test_lost_when_all_have_voted_a_person_decides(
    line, harbour: Harbour, agents, traffic, outcome: str, capsys
) -> None:
    # The outcome, whichever it is, reaches nobody.
    line.breaks = lambda broker, phases: bool(phases & {"commit", "abort"})
    execution = start(harbour.system, [shift("a", "b", "c")])
    until(lambda: line.down, "the control plane is lost", LONG_S)
    until(lambda: _phases(agents) == ["ready"] * 3, "all have voted", LONG_S)
    action = str(ExecutionAction.objects.get().public_id)
    state = ["--state-dir", str(agents["b"].state)]
    assert main(["decide", *state]) == 0
    assert f"{action}  attempt 1 of shift_link (i = a, j = b, k = c), paused for" in (
        capsys.readouterr().out
    )
    decision = ["--action", action, "--outcome", outcome, "--reason", "Weir is gone", "--yes"]
    # Until it has asked in vain, and heard the votes of the others, it refuses.
    until(lambda: main(["decide", *state, *decision]) == 0, capsys.readouterr().err, LONG_S)
    until(lambda: "ready" not in _phases(agents), "the others follow", LONG_S)
    traffic.flows_again()
    assert _links(agents) == (SHIFTED if outcome == "commit" else ROW)
    _comes_to_rest(line, execution, agents)
    action_row = ExecutionAction.objects.get()
    # Had the database committed, it agrees with the one and takes the other back.
    assert action_row.state == ("done" if outcome == "commit" else "aborted"), action_row.detail
    assert edges_in_force(harbour.system) == _links(agents)
    traffic.all_arrived()
