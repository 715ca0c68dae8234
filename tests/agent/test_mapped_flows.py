"""What an agent sends of mapped flows, without a broker: many receivers that never answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from agent.drivers.nats.mapped_streams import MOST_BYTES, _in_pieces
from agent.mapped_flows import LEARN_S, MappedFlows
from weir.coordination.wire import HandOverPhase, StreamPlace
from weir_client.frames import Answer, Kind, Place, Reply
from weir_client.sending import HandOverTimes, Sent

HERE, THERE, ELSEWHERE = (StreamPlace(group=0, stream=number) for number in (1, 2, 3))
SOON = HandOverTimes(prepare_s=0.05, drain_s=0.05)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Flows:
    """Mapped flows with what they send, in real time but for the second in which they learn."""

    def __init__(self, *names: str, times: HandOverTimes = SOON) -> None:
        self.sent: list[Sent] = []
        self.announced: list[dict[str, tuple[Place, ...]]] = []
        self.questions = 0
        self.flows = MappedFlows(
            "a",
            transmit=self._transmit,
            announce=lambda places: self.announced.append(dict(places)),
            ask_again=self._ask_again,
            times=times,
        )
        self.flows._learns_until = 0.0
        self.flows.map_to(dict.fromkeys(names, HERE))

    def _transmit(self, sent: Sequence[Sent], header: bytes) -> None:
        self.sent += sent

    def _ask_again(self) -> None:
        self.questions += 1

    def done(self) -> bool:
        return not self.flows._moving


async def settled(flows: Flows) -> None:
    run = asyncio.create_task(flows.flows.run())
    async with asyncio.timeout(60):
        while not flows.done() and not run.done():
            await asyncio.sleep(0.01)
    assert not run.done(), run.exception()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.asyncio
async def test_thousands_that_never_answer_end_with_one_hand_over_each():
    names = [f"f{number}" for number in range(2_000)]
    flows = Flows(*names)
    for number, name in enumerate(names):
        flows.flows.take_wants(f"mute {number}", [name, names[number - 1]])
    flows.flows.map_to(dict.fromkeys(names, THERE))
    await settled(flows)
    observed = flows.flows.observed()
    assert {each.phase for each in observed.values()} == {HandOverPhase.DONE}
    assert {each.unready for each in observed.values()} == {2}
    assert flows.flows.receivers == ()


@pytest.mark.asyncio
async def test_who_answers_is_waited_for_and_who_leaves_is_not():
    flows = Flows("f", times=HandOverTimes(prepare_s=60.0, drain_s=60.0))
    for name in ("one", "other"):
        flows.flows.take_wants(name, ["f", "not mapped"])
    flows.flows.map_to({"f": THERE})
    life = flows.sent[-1][1].life

    def answers(answer: Answer) -> None:
        flows.flows.take(Reply(answer, "f", "a", life, 1, "one"))

    answers(Answer.READY)
    assert flows.flows.observed()["f"].phase is HandOverPhase.PREPARING
    run = asyncio.create_task(flows.flows.run())
    flows.flows.remove_receiver("other")
    async with asyncio.timeout(60):
        while flows.flows.observed()["f"].phase is HandOverPhase.PREPARING:
            await asyncio.sleep(0.01)
        assert flows.flows.observed()["f"].phase is HandOverPhase.DRAINING
        answers(Answer.DONE)
        assert flows.flows.observed()["f"].phase is HandOverPhase.DONE
        while flows.announced[-1] != {"f": (Place(0, 2),)}:
            await asyncio.sleep(0.01)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    kinds = [frame.kind for _, frame in flows.sent]
    assert set(kinds) == {Kind.CHANGE, Kind.BEACON, Kind.LAST, Kind.FIRST}
    assert flows.flows.observed()["f"].unready == 0


@pytest.mark.asyncio
async def test_who_was_silent_is_not_waited_for_by_a_move_that_was_queued():
    flows = Flows("f")
    flows.flows.take_wants("mute", ["f"])
    flows.flows.map_to({"f": THERE})
    flows.flows.map_to({"f": ELSEWHERE})
    questions = flows.questions
    await settled(flows)
    last = flows.flows.observed()["f"]
    assert (last.source, last.target, last.unready) == (THERE, ELSEWHERE, 0)
    assert flows.questions == questions + 1


def test_nobody_knows_who_is_there_in_the_first_second():
    clock = Clock()
    flows = MappedFlows(
        "a", transmit=lambda *_: None, announce=lambda _: None, clock=clock, wall=clock
    )
    flows.map_to({"f": HERE, "g": HERE})
    flows.map_to({"f": THERE, "g": HERE})
    assert flows.observed()["f"].phase is HandOverPhase.PREPARING
    clock.now += LEARN_S
    flows.map_to({"f": THERE, "g": THERE})
    assert flows.observed()["g"].phase is HandOverPhase.DONE


def test_a_name_that_stands_for_nobody_is_no_receiver():
    flows = Flows("f")
    flows.flows.take_wants("", ["f"])
    assert flows.flows.receivers == ()


def test_wants_come_in_pieces():
    flows = Flows("f", "g", "h")
    flows.flows.take_wants("one", ["f"])
    flows.flows.take_wants("one", ["g"], more=True)
    assert [flows.flows._wants.receivers(name) for name in "fgh"] == [{"one"}, {"one"}, set()]
    flows.flows.take_wants("one", ["h"])
    assert [flows.flows._wants.receivers(name) for name in "fgh"] == [set(), set(), {"one"}]


def test_a_flow_that_is_new_on_the_map_has_receivers_asked_for():
    flows = Flows("f")
    before = flows.questions
    flows.flows.map_to({"f": THERE})
    assert flows.questions == before
    flows.flows.map_to({"f": THERE, "g": HERE})
    assert flows.questions == before + 1


def test_places_are_announced_in_pieces_that_any_server_takes():
    places = {f"{number:\u00e9>200}": (Place(2**32 - 1, 2**32 - 1),) * 3 for number in range(2_000)}
    pieces = list(_in_pieces(places))
    assert all(len(piece) <= MOST_BYTES for piece in pieces)
    together: dict[str, list[list[int]]] = {}
    for piece in pieces:
        together |= json.loads(piece)
    assert together == {name: [list(place) for place in where] for name, where in places.items()}
    assert list(_in_pieces({})) == []
