"""Hand-overs of one stream go one after the other, whichever of them fail, and however late what
failed is looked at again. The broker's part, writing a hand-over, is stood in for here."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent.drivers.base import Retryable
from agent.drivers.nats import kept_moving
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.course_records import FlowState, Going, Recorded
from agent.drivers.nats.kept_appending import KeptAppending, KeptFlow, Way
from agent.drivers.nats.kept_moving import KeptMoving
from agent.drivers.nats.session import Session
from agent.tasks import Watched, until_one_ends
from tests.agent.planes import until
from tests.suites import effort
from weir_client.frames import Place
from weir_client.keeping import Stay

pytestmark = pytest.mark.asyncio

S1, S2, S3, S4 = PLACES = tuple(Place(0, number) for number in range(1, 5))
KEEP_S = 60
FOREVER_S = 3600.0


async def nothing(*_: Any) -> None:
    """All is as it shall be."""


class Streams:
    """Streams that hold First and Last of hand-overs, and fail these as a test wants it.

    Raises AssertionError once the streams of a hand-over that is not complete are used by another:
    then each may hold the First whose reader waits for the Last on the other.
    """

    def __init__(self, between: Callable[[Way], Any]) -> None:
        """Take `between`, which is awaited with a way when First is there and Last is not."""
        self._between = between
        self.incomplete: dict[Way, set[str]] = {}
        self.times: Counter[tuple[str, Way]] = Counter()
        """How often a flow went a way to its end."""

    async def hand_over(
        self, _: Connection, flows: Sequence[Recorded], source: Place, target: Place, **__: Any
    ) -> None:
        """Write a hand-over; what stands for `kept_hand_over.hand_over`."""
        way = (source, target)
        for other in self.incomplete:
            assert other == way or not set(other) & set(way), f"{way} while {other} is incomplete"
        names = {flow.flow for flow in flows}
        assert len(names) == len(flows), "a flow twice"
        for flow in flows:
            going = flow.state.going or Going(target, flow.state.moves + 1)
            assert (flow.state.place, going.target) == way
            flow.state = replace(flow.state, going=going)
        self.incomplete.setdefault(way, set()).update(names)
        await self._between(way)
        for flow in flows:
            flow.state = at(target, flow.state.moves + 1)
            self.times[flow.flow, way] += 1
        self.incomplete[way] -= names
        if not self.incomplete[way]:
            del self.incomplete[way]


class Stand:
    """Hand-overs of some flows, with their agent's part as it is."""

    def __init__(self, ways: Iterable[Way]) -> None:
        """Take from where to where each flow goes."""
        self.tasks = Watched()
        self.changed = asyncio.Event()
        appending = KeptAppending(
            Session("", name="stand"), allowed=nothing, missing=lambda _: None
        )
        self.flows = appending.flows
        for number, (source, goal) in enumerate(ways):
            assert source is not None
            name = f"flow-{number}"
            self.flows[name] = KeptFlow(name, Recorded(name, at(source, 1), 1), goal)
        appending.go_on("server")
        self.moving = KeptMoving(
            appending, self.tasks, allowed=nothing, prepare=nothing, changed=self.changed.set
        )
        self._connection = Connection()

    def begin(self) -> float | None:
        self.changed.clear()
        return self.moving.begin(self._connection, KEEP_S)

    async def complete(self) -> None:
        """Go on, as whoever calls `begin` does, until all flows are where they shall be. Raises
        Died for what a hand-over raised."""

        def is_done() -> bool:
            self.moving.hurry()
            self.begin()
            return not self.moving.busy and not any(flow.is_due for flow in self.flows.values())

        await until_one_ends(
            self.tasks.fault(), until(is_done, "all flows are where they shall be")
        )


def at(place: Place, move: int) -> FlowState:
    return FlowState((Stay(move, place, 1),), move, None, KEEP_S)


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("together", [1, 200])
async def test_what_failed_keeps_its_streams_when_another_ends_before_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, together: int, hurried: bool
) -> None:
    monkeypatch.setattr(kept_moving, "TOGETHER", together)
    monkeypatch.setattr(kept_moving, "COMPLETE_S", FOREVER_S)
    failing, apart, back = (S1, S2), (S3, S4), (S2, S1)
    may_end, failures = asyncio.Event(), iter([Retryable("no acknowledgement in 10 s")])

    async def between(way: Way) -> None:
        if way == apart:
            await may_end.wait()
        elif way == failing:
            for failure in failures:
                raise failure

    streams = Streams(between)
    monkeypatch.setattr(kept_moving, "hand_over", streams.hand_over)
    stand = Stand([failing, failing, apart, back])
    stand.begin()
    await stand.changed.wait()
    assert stand.moving.busy == set(apart)
    assert streams.incomplete.keys() == {failing, apart}
    # Whoever calls `begin` still waits for something else.
    if hurried:
        stand.moving.hurry()
    may_end.set()
    await until(lambda: not set(apart) & stand.moving.busy, "the other ends")
    if not hurried:
        assert stand.moving.busy == set(), "what failed has its streams for itself"
    await stand.complete()
    ways = (failing, failing, apart, back)
    assert streams.times == {(f"flow-{number}", way): 1 for number, way in enumerate(ways)}
    assert not stand.moving.problems


async def test_nothing_goes_on_once_all_is_ended_although_some_come_to_their_end_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing, ending, back = (S1, S2), (S3, S4), (S2, S1)
    failed = asyncio.Event()

    async def between(way: Way) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # A cancellation can be lost (agent/tasks.py).
            if way == failing:
                failed.set()
                raise Retryable("connection lost") from None
            await failed.wait()

    streams = Streams(between)
    monkeypatch.setattr(kept_moving, "hand_over", streams.hand_over)
    monkeypatch.setattr(kept_moving, "COMPLETE_S", 0.0)
    stand = Stand([failing, ending, back])
    stand.begin()
    await until(lambda: len(streams.incomplete) == 2, "two are under way")
    await stand.moving.end()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert stand.moving.busy == set()
    assert streams.incomplete.keys() == {failing}
    assert streams.times == {("flow-1", ending): 1}


@pytest.mark.parametrize("seed", effort(range(30), range(600)))
async def test_hand_overs_that_share_a_stream_never_overlap(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    pick = random.Random(seed)
    monkeypatch.setattr(kept_moving, "TOGETHER", pick.choice((1, 2, 200)))
    monkeypatch.setattr(kept_moving, "AT_ONCE", pick.choice((1, 2, 8)))
    for pause in ("COMPLETE_S", "RETRY_S"):
        monkeypatch.setattr(kept_moving, pause, pick.choice((0.0, FOREVER_S)))
    failures = pick.choice((0.1, 0.5))

    async def between(_: Way) -> None:
        for _ in range(pick.randrange(6)):
            await asyncio.sleep(0)
        if pick.random() < failures:
            raise Retryable("no acknowledgement in 10 s")

    streams = Streams(between)
    monkeypatch.setattr(kept_moving, "hand_over", streams.hand_over)
    stand = Stand((pick.choice(PLACES), pick.choice(PLACES)) for _ in range(8))
    for _ in range(60):
        # Documents come at any time; whoever calls `begin` is late by any time.
        match pick.randrange(4):
            case 0:
                flow = pick.choice(tuple(stand.flows.values()))
                flow.goal = pick.choice(PLACES)
                stand.moving.note_due(flow)
            case 1:
                stand.moving.hurry()
            case 2:
                stand.begin()
        for _ in range(pick.randrange(12)):
            await asyncio.sleep(0)
    await stand.complete()
    assert not streams.incomplete
    assert not stand.moving.problems
