"""`python -m agent run` as a process of its own: without a control plane, killed, asked to end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest

from agent.drivers.nats.server_config import BrokerSecrets
from agent.store import Store
from tests.agent.brokers import Broker
from tests.nats_clients import processed
from tests.nats_server import free_port
from weir.coordination.tables import Tables
from weir.coordination.wire import ClassSpec, Document, FlowSpec, Gate

pytestmark = [pytest.mark.stack, pytest.mark.slow]

WAIT_S = 60.0
DOCUMENT = Document(
    system="s",
    broker="a",
    version="v" * 64,
    flows={"tides": FlowSpec(ingress=True)},
    gates={"tides": Gate(rate_per_s=1000.0, burst=100.0)},
    classes={"gulls": ClassSpec(flow="tides", limit=1)},
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "broker", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


class Process:
    """The agent beside a broker."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self.log = directory / "agent.log"
        self.state = directory / "state"
        broker.secrets.save(directory / "secrets.json")
        (directory / "credential").write_text("weira_x\n")
        self._command = [
            *(sys.executable, "-m", "agent", "run"),
            *("--control-plane", f"http://127.0.0.1:{free_port()}"),
            *("--credential-file", str(directory / "credential")),
            *("--broker", broker.url),
            *("--secrets-file", str(directory / "secrets.json")),
            *("--state-dir", str(self.state)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=out)

    def says(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + WAIT_S
        while self.log.read_text().count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} not in:\n{self.log.read_text()}"
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(WAIT_S)


async def _told_before(store: Store) -> None:
    """A directory of an agent that has been here before: its document, and that it has no links."""
    await store.save_document(DOCUMENT)
    await store.change_tables(lambda tables: Tables())


@pytest.fixture
def agent(broker: Broker, tmp_path: Path) -> Iterator[Process]:
    store = Store(tmp_path / "state")
    asyncio.run(_told_before(store))
    store.close()
    agent = Process(broker, tmp_path)
    agent.start()
    yield agent
    if agent._process is not None and agent._process.poll() is None:
        agent._process.kill()
        agent._process.wait(WAIT_S)


async def come(broker: Broker, user: str, name: str) -> Any:
    async def ignore(error: Exception) -> None:
        return

    return await asyncio.wait_for(
        nats.connect(
            broker.url,
            user=user,
            password=broker.secrets.client_key,
            name=name,
            allow_reconnect=False,
            error_cb=ignore,
        ),
        WAIT_S,
    )


async def _one_is_let_in_and_messages_pass(broker: Broker) -> None:
    consumer = await come(broker, "gulls", "first")
    with pytest.raises((nats.errors.Error, TimeoutError, OSError)):
        await come(broker, "gulls", "second")
    subscription = await consumer.subscribe("weir.msg.tides")
    await processed(consumer)
    publisher = await come(broker, "publisher", "p")
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        await publisher.publish("weir.in.tides", b"1")
        try:
            message = await subscription.next_msg(timeout=0.2)
        except TimeoutError:
            continue  # best effort: the agent may not listen yet
        assert message.data == b"1"
        break
    else:
        pytest.fail("nothing was forwarded")
    await consumer.close()
    await publisher.close()


def test_goes_on_as_told_last_while_the_control_plane_is_away(
    agent: Process, broker: Broker
) -> None:
    agent.says("is in force")
    agent.says("the control plane is away")
    asyncio.run(_one_is_let_in_and_messages_pass(broker))
    assert agent.log.read_text().count("the control plane is away") == 1
    assert agent.end(signal.SIGTERM) == 0
    agent.says("ended")
    assert "Traceback" not in agent.log.read_text()


def test_comes_back_from_kill_9(agent: Process, broker: Broker) -> None:
    agent.says("is in force")
    agent.end(signal.SIGKILL)
    agent.start()
    agent.says("is in force", times=2)
    asyncio.run(_one_is_let_in_and_messages_pass(broker))
    assert agent.end(signal.SIGINT) == 0


def test_waits_for_its_broker(agent: Process, broker: Broker) -> None:
    agent.says("is in force")
    agent.end(signal.SIGKILL)
    broker.kill()
    agent.start()
    agent.says("does not answer")
    broker.start()
    agent.says("is in force", times=2)
    asyncio.run(_one_is_let_in_and_messages_pass(broker))
