"""Send flows on the streams that the document maps them to, and hand them over when it changes.

One `FlowSender` for each mapped flow; its life is that of this process, so a restart begins anew on
the stream that the document names, and receivers take that for what it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weir_client.frames import Place, Reply
from weir_client.sending import FlowSender, HandOverTimes, Phase, Sent

KEEP_S = 60.0
"""How long a hand-over that is done stays in what is observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where one flow is at this broker, and where it goes."""

    place: Place
    goal: Place
    phase: Phase
    since_s: float
    """Since when it is in this phase, in seconds before now."""
    took_s: float | None = None
    """How long the last hand-over took, from Change until it was done."""
    unready: int = 0
    """Receivers that the last hand-over did not wait for any longer."""


class Wants:
    """Who wants which flows at this broker now."""

    def __init__(self) -> None:
        self._flows: dict[str, frozenset[str]] = {}
        """Receiver -> the flows it wants."""
        self._receivers: dict[str, set[str]] = {}

    def take(self, receiver: str, flows: Sequence[str]) -> None:
        """Take what a receiver says that it wants from now on."""
        self.gone(receiver)
        self._flows[receiver] = frozenset(flows)
        for flow in flows:
            self._receivers.setdefault(flow, set()).add(receiver)

    def gone(self, receiver: str) -> None:
        """Forget a receiver whose connection has ended."""
        for flow in self._flows.pop(receiver, frozenset()):
            self._receivers[flow].discard(receiver)

    def receivers(self, flow: str) -> frozenset[str]:
        """Return who wants a flow."""
        return frozenset(self._receivers.get(flow, ()))


class MappedFlows:
    """The flows that are sent on streams here. Call `map_to` with what a document says."""

    def __init__(
        self,
        broker: str,
        *,
        transmit: Callable[[list[Sent]], None],
        placed: Callable[[Mapping[str, tuple[Place, ...]]], None],
        times: HandOverTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
        life: int | None = None,
    ) -> None:
        """Take `transmit`, which sends frames in this order, `placed`, which tells receivers on
        which streams flows are from now on, and `life`, when this process began, in nanoseconds."""
        self.wants = Wants()
        self._broker = broker
        self._transmit = transmit
        self._placed = placed
        self._times = times or HandOverTimes()
        self._clock = clock
        self._life = time.time_ns() if life is None else life
        self._senders: dict[str, FlowSender] = {}
        self._changed = asyncio.Event()

    def map_to(self, places: Mapping[str, Place]) -> None:
        """Send these flows, and no others, on these streams. Flows whose stream is another than
        before are handed over."""
        now, changed = self._clock(), []
        for flow in self._senders.keys() - places.keys():
            del self._senders[flow]
        for flow, place in places.items():
            sender = self._senders.get(flow)
            if sender is None:
                self._senders[flow] = FlowSender(
                    flow,
                    self._broker,
                    life=self._life,
                    place=place,
                    times=self._times,
                    receivers=lambda flow=flow: self.wants.receivers(flow),  # type: ignore[misc]
                )
                changed.append(flow)
            elif sender.goal != place:
                self._act(sender, sender.move_to(place, now))
                changed.append(flow)
        self._placed(self.places(changed))
        self._changed.set()

    def send(self, flow: str, payloads: Sequence[bytes]) -> None:
        """Send messages of a flow; nothing where it is not mapped."""
        sender = self._senders.get(flow)
        if sender is not None:
            for payload in payloads:
                self._transmit(sender.send(payload))

    def take(self, reply: Reply) -> None:
        """Take what a receiver says of a hand-over."""
        sender = self._senders.get(reply.flow)
        if sender is not None and reply.sender == self._broker:
            self._act(sender, sender.take(reply, self._clock()))

    def places(self, flows: Sequence[str]) -> dict[str, tuple[Place, ...]]:
        """Return on which streams flows are: the one they go to, and the one that may still hold
        messages. Flows that are not sent here are left out."""
        places = {}
        for flow in flows:
            sender = self._senders.get(flow)
            if sender is not None:
                where = {sender.goal, sender.place}
                if sender.phase is Phase.DRAINING and sender.hand_over is not None:
                    where.add(sender.hand_over.source)
                places[flow] = tuple(sorted(where))
        return places

    def observed(self) -> dict[str, Placed]:
        """Return where each flow is."""
        now = self._clock()
        return {flow: _placed(sender, now) for flow, sender in self._senders.items()}

    async def run(self) -> None:
        """Go on with hand-overs as time passes, until cancelled."""
        while True:
            now = self._clock()
            times = []
            for sender in list(self._senders.values()):
                wake_at = sender.wake_at()
                if wake_at is not None and wake_at <= now:
                    self._act(sender, sender.wake(now))
                    wake_at = sender.wake_at()
                if wake_at is not None:
                    times.append(wake_at)
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, min(times) - now) if times else None):
                    await self._changed.wait()

    def _act(self, sender: FlowSender, frames: list[Sent]) -> None:
        self._transmit(frames)
        if frames:
            self._changed.set()


def _placed(sender: FlowSender, now: float) -> Placed:
    current = sender.hand_over
    if current is None:
        return Placed(place=sender.place, goal=sender.goal, phase=sender.phase, since_s=0.0)
    began = current.done_at or current.switched_at or current.began_at
    return Placed(
        place=sender.place,
        goal=sender.goal,
        phase=sender.phase,
        since_s=max(0.0, now - began),
        took_s=None if current.done_at is None else current.done_at - current.began_at,
        unready=len(current.unready),
    )
