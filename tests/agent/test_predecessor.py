"""Two live agents of one broker, as processes: only the newer one reads, writes and settles.

The older one is cut off from the control plane, so nobody tells it but the broker, and its tables
are of another time: nobody here wants the flow, so whatever it reads it would let go.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from agent.drivers.nats.server_config import BrokerSecrets
from tests.agent.brokers import Broker
from tests.agent.planes import stored
from tests.freezing import freeze, thaw

pytestmark = [pytest.mark.asyncio, pytest.mark.slow]

LIMIT_S = 120
PART = 2_000
ROOT = Path(__file__).parents[2]


class Agent:
    """A process of `tests.agent.acting`."""

    def __init__(self, broker: Broker, incarnation: int, *local: str) -> None:
        secrets = broker.directory / "secrets.json"
        broker.secrets.save(secrets)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.agent.acting",
                broker.url,
                secrets,
                str(incarnation),
                *list(local),
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    async def says(self) -> str:
        """Its next word; empty when it has ended."""
        assert self._process.stdout is not None
        line: str = await asyncio.to_thread(self._process.stdout.readline)
        return line.strip()

    def freeze(self) -> None:
        freeze(self._process.pid)

    def thaw(self) -> None:
        thaw(self._process.pid)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker("a", tmp_path / "a", BrokerSecrets.generate())
    broker.start()
    yield broker
    broker.kill()


async def _publish(client: Any, first: int, last: int) -> None:
    stream = client.jetstream(publish_async_max_pending=500, timeout=30)
    sent = [await stream.publish_async("weir.in.rel", b"%d" % n) for n in range(first, last + 1)]
    await asyncio.gather(*sent)


async def _delivered(client: Any, count: int) -> list[int]:
    """What consumers have, once it is that much or comes to rest."""
    before = -1
    for _ in range(200):
        state = (await client.jetstream().stream_info("WEIR_MSG_rel")).state
        waiting = (await client.jetstream().stream_info("WEIR_IN_rel")).state.messages
        if state.messages >= count or (not waiting and state.messages == before):
            break
        before = state.messages
        await asyncio.sleep(0.25)
    return [int(payload) for payload in await stored(client, "rel")]


@pytest.mark.parametrize("frozen", [False, True], ids=["runs", "wakes up"])
async def test_a_predecessor_costs_no_message_while_its_successor_stands_still(broker, frozen):
    """The worst moments: the successor stands still just after it has taken over, and the
    predecessor runs, or wakes up with messages in its hands."""
    older = newer = None
    async with asyncio.timeout(LIMIT_S):
        client = await nats.connect(
            broker.url, user="agent", password=broker.secrets.agent_password, name="test"
        )
        try:
            older = Agent(broker, 1)
            assert await older.says() == "acts"
            if frozen:
                older.freeze()
            newer = Agent(broker, 2, "rel")
            assert await newer.says() == "acts"
            # From here on what is acknowledged must arrive.
            await _publish(client, 1, PART)
            newer.freeze()
            await _publish(client, PART + 1, 2 * PART)
            older.thaw()
            assert await older.says() == "fenced"
            await _publish(client, 2 * PART + 1, 3 * PART)
            newer.thaw()
            assert await _delivered(client, 3 * PART) == list(range(1, 3 * PART + 1))
        finally:
            for agent in (older, newer):
                if agent is not None:
                    agent.end()
            await client.close()
