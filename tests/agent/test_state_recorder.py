"""A vote is said once the broker has noted the state directory that holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.drivers.simulated.broker import VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.store import StateRecorder, Store
from weir.coordination.tables import Tables
from weir.coordination.wire import Report, ReportPhase

pytestmark = pytest.mark.asyncio

READY = Report(action="swap", attempt=1, phase=ReportPhase.READY)


class SlowDriver(SimulatedDriver):
    """Notes a number when it is let."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked = asyncio.Event()
        self.let = asyncio.Event()

    async def note_state(self, number: int) -> None:
        self.asked.set()
        await self.let.wait()
        await super().note_state(number)


class Voter:
    """A state directory beside a broker that takes its time."""

    def __init__(self, directory: Path) -> None:
        self.driver = SlowDriver(network=VirtualNetwork(), address="sim://a", broker="a")
        self.store = Store(directory)
        self.said: list[Report] = []
        self.recorder = StateRecorder(self.driver, self.store, self.said.append)

    async def noted(self) -> None:
        """Returns when the broker knows as much as the directory."""
        self.driver.let.set()
        async with asyncio.timeout(5):
            while await self.driver.noted_state() < self.store.saved.number:
                await asyncio.sleep(0)
        for _ in range(3):
            await asyncio.sleep(0)


@pytest_asyncio.fixture
async def voter(tmp_path: Path) -> AsyncIterator[Voter]:
    voter = Voter(tmp_path / "a")
    await voter.driver.open()
    await voter.store.change_tables(lambda _: Tables())
    running = asyncio.create_task(voter.recorder.run())
    yield voter
    running.cancel()
    voter.store.close()


async def test_a_vote_waits_for_the_note_and_is_said_once(voter: Voter) -> None:
    voter.recorder.send(READY)
    await voter.driver.asked.wait()
    assert voter.said == []
    await voter.noted()
    assert voter.said == [READY]


async def test_a_vote_that_is_noted_already_is_said_at_once(voter: Voter) -> None:
    voter.recorder.check()
    await voter.noted()
    voter.recorder.send(READY)
    assert voter.said == [READY]


async def test_a_vote_that_was_taken_back_meanwhile_is_not_said(voter: Voter) -> None:
    voter.recorder.send(READY)
    await voter.driver.asked.wait()
    released = Report(action="swap", attempt=1, phase=ReportPhase.RELEASED)
    voter.recorder.send(released)
    assert voter.said == [released]
    await voter.noted()
    assert voter.said == [released]
