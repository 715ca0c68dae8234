"""Send flows on the streams that the document maps them to, and hand them over when it changes.

There is one `FlowSender` for each mapped flow. Its life ends with this process, or when the flow
leaves the map: the next one begins on the stream that the document names, and receivers tell the
two apart.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from weir.coordination.wire import HandOver, HandOverPhase, StreamPlace
from weir_client.frames import Place, Reply
from weir_client.sending import FlowSender, HandOverTimes, Phase, Sent
from weir_client.waking import WakeUps

KEEP_S = 60.0
"""How long a hand-over that is done stays in what is observed."""
LEARN_S = 1.0
"""How long receivers may take to say what they want once the agent can hear them (again)."""
MOST_RECEIVERS = 10_000
_UNKNOWN = ""
"""Stands for receivers that may be there and are not known yet."""
MOST_KEPT = 200
"""How many of those that are done stay there at most."""

Places = Mapping[str, tuple[Place, ...]]
"""Flow -> the streams on which messages of it may come."""


class Wants:
    """Who wants which flows at this broker now."""

    def __init__(self) -> None:
        self._flows: dict[str, frozenset[str]] = {}
        """Receiver -> the flows it wants."""
        self._receivers: dict[str, set[str]] = {}

    def add(self, receiver: str, flows: Iterable[str]) -> None:
        """Add to what a receiver wants."""
        every = self._flows[receiver] = self._flows.get(receiver, frozenset()) | frozenset(flows)
        for flow in every:
            self._receivers.setdefault(flow, set()).add(receiver)

    def remove(self, receiver: str) -> frozenset[str]:
        """Forget a receiver; return the flows that it wanted."""
        flows = self._flows.pop(receiver, frozenset())
        for flow in flows:
            receivers = self._receivers[flow]
            receivers.discard(receiver)
            if not receivers:
                del self._receivers[flow]
        return flows

    def __iter__(self) -> Iterator[str]:
        """Return all receivers, one after the other."""
        return iter(tuple(self._flows))

    def __len__(self) -> int:
        return len(self._flows)

    def receivers(self, flow: str) -> frozenset[str]:
        """Return who wants a flow."""
        return frozenset(self._receivers.get(flow, ()))


class MappedFlows:
    """The flows that one broker's subscribers receive on streams. Call `map_to` with what a
    document says, and keep `run` running."""

    def __init__(
        self,
        broker: str,
        *,
        transmit: Callable[[Sequence[Sent], bytes], None],
        announce: Callable[[Places], None],
        ask_again: Callable[[], None] = lambda: None,
        times: HandOverTimes | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take what reaches receivers. `transmit` sends frames in this order, with the headers of a
        message. `announce` names the streams of flows from now on, none for those that are not
        mapped any more. `ask_again` has every receiver repeat what it wants."""
        self._wants = Wants()
        self._broker = broker
        self._transmit = transmit
        self._announce = announce
        self._ask_again = ask_again
        self._times = times or HandOverTimes()
        self._clock = clock
        self._wall = wall
        # Read once: a hand-over's beginning must not change from report to report.
        self._ahead_s = wall() - clock()
        self._senders: dict[str, FlowSender] = {}
        self._moving: dict[str, FlowSender] = {}
        """Flows whose hand-over is under way."""
        self._moved: dict[str, FlowSender] = {}
        """Flows whose last hand-over is done, in the order of that."""
        self._learns_until = clock() + LEARN_S
        self._settled: set[str] = set()
        """Flows that have left a stream, which receivers do not know yet."""
        self._wake_ups = WakeUps()
        self._woken: deque[str] = deque()
        """Flows that wait for fewer receivers than before."""

    # --- the document

    def map_to(self, places: Mapping[str, StreamPlace]) -> None:
        """Send these flows, and no others, on these streams. A flow whose stream is another than
        before is handed over; one whose hand-over is under way goes on from there."""
        now = self._clock()
        changed = [flow for flow in self._senders if flow not in places]
        for flow in changed:
            for each in (self._senders, self._moving, self._moved):
                each.pop(flow, None)
            self._wake_ups.remove(flow)
        is_new = False
        for flow, at in places.items():
            place, sender = Place(at.group, at.stream), self._senders.get(flow)
            if sender is None:
                self._senders[flow] = self._sender(flow, place)
                is_new = True
            elif sender.goal == place:
                continue
            else:
                self._go_on(sender, sender.move_to(place, now))
            changed.append(flow)
        if changed:
            self._announce(self.places(changed))
        if is_new:
            # Who wants a flow is kept of mapped flows alone.
            self._ask_again()

    def _sender(self, flow: str, place: Place) -> FlowSender:
        return FlowSender(
            flow,
            self._broker,
            # A flow that comes back to the map counts its messages anew.
            life=int(self._wall() * 1e9),
            place=place,
            times=self._times,
            receivers=lambda: self._receivers(flow),
        )

    def _receivers(self, flow: str) -> frozenset[str]:
        """Return who is waited for. While somebody may be there who is not known, that takes as
        long as anybody is waited for."""
        known = self._wants.receivers(flow)
        return known | {_UNKNOWN} if self._clock() < self._learns_until else known

    # --- messages and receivers

    def send(self, flow: str, payload: bytes, header: bytes = b"") -> None:
        """Send a message of a flow; nothing where the flow is not mapped."""
        sender = self._senders.get(flow)
        if sender is not None:
            self._transmit(sender.send(payload), header)

    @property
    def flows(self) -> tuple[str, ...]:
        """Return the flows that are sent on streams here."""
        return tuple(self._senders)

    def places(self, flows: Iterable[str]) -> dict[str, tuple[Place, ...]]:
        """Return on which streams messages of these flows may come: the one that a flow goes to,
        the one that it is on, and the one that may still hold some. No stream: it is not mapped."""
        return {flow: _places(self._senders.get(flow)) for flow in flows}

    def learn(self) -> None:
        """Count on receivers that are not known: nobody could be heard until now."""
        self._learns_until = self._clock() + LEARN_S
        self._ask_again()

    def take_wants(self, receiver: str, flows: Iterable[str], *, more: bool = False) -> None:
        """Take which flows a receiver wants from now on; with `more` beside those before. Of flows
        that are not mapped here nothing is kept, and nothing of more than `MOST_RECEIVERS`."""
        mapped = self._senders.keys() & set(flows)
        if not more:
            self._wants.remove(receiver)
        if receiver != _UNKNOWN and len(self._wants) < MOST_RECEIVERS:
            self._wants.add(receiver, mapped)

    @property
    def receivers(self) -> tuple[str, ...]:
        """Return all who want something."""
        return tuple(self._wants)

    def remove_receiver(self, receiver: str) -> None:
        """Wait no more for a receiver whose connection has ended."""
        self._woken.extend(self._wants.remove(receiver) & self._moving.keys())
        if self._woken:
            self._wake_ups.interrupt()

    def take(self, reply: Reply) -> None:
        """Take what a receiver says of a hand-over."""
        sender = self._senders.get(reply.flow)
        if sender is not None and reply.sender == self._broker:
            self._go_on(sender, sender.take(reply, self._clock()))

    # --- hand-overs

    async def run(self) -> None:
        """Go on with hand-overs as time passes, until cancelled."""
        while True:
            now = self._clock()
            if self._settled:
                settled, self._settled = self._settled, set()
                self._announce(self.places(settled))
            while (flow := self._next_due(now)) is not None:
                sender = self._moving.get(flow)
                if sender is not None:
                    self._go_on(sender, sender.wake(now))
            if self._settled:
                continue
            await self._wake_ups.wait(now)

    def _next_due(self, now: float) -> str | None:
        """Return the next flow that is to be woken now; None where there is none."""
        if self._woken:
            return self._woken.popleft()
        return self._wake_ups.next_due(now)

    def observed(self) -> dict[str, HandOver]:
        """Return the last hand-over of each flow that is on its way, or has been lately."""
        for flow, sender in list(self._moved.items()):
            done_at = sender.hand_over.done_at if sender.hand_over is not None else None
            late = done_at is None or done_at < self._clock() - KEEP_S
            if late or len(self._moved) > MOST_KEPT:
                del self._moved[flow]
        every = {**self._moved, **self._moving}
        return {
            flow: entry
            for flow, s in every.items()
            if (entry := _entry(s, self._ahead_s)) is not None
        }

    def _go_on(self, sender: FlowSender, frames: Sequence[Sent]) -> None:
        """Send what a sender has to say, and take note of where its hand-over is."""
        if frames:
            self._transmit(frames, b"")
        flow, current = sender.flow, sender.hand_over
        if sender.phase is not Phase.STEADY:
            self._moved.pop(flow, None)
            self._moving[flow] = sender
            wake_at = sender.wake_at()
            if wake_at is not None:
                self._wake_ups.wake(flow, wake_at)
        elif self._moving.pop(flow, None) is not None or (frames and current is not None):
            self._moved[flow] = sender
            self._settled.add(flow)
            self._wake_ups.interrupt()
        # Who has not answered is waited for again once it says what it wants.
        silent = sender.take_silent() - {_UNKNOWN}
        for receiver in silent:
            self.remove_receiver(receiver)
        if silent:
            self._ask_again()


def _places(sender: FlowSender | None) -> tuple[Place, ...]:
    if sender is None:
        return ()
    places = {sender.goal, sender.place}
    if sender.phase is not Phase.STEADY and sender.hand_over is not None:
        places |= {sender.hand_over.source, sender.hand_over.target}
    return tuple(sorted(places))


_PHASES = {
    Phase.PREPARING: HandOverPhase.PREPARING,
    Phase.DRAINING: HandOverPhase.DRAINING,
    Phase.STEADY: HandOverPhase.DONE,
}


def _entry(sender: FlowSender, ahead: float) -> HandOver | None:
    """Return the entry of a sender's last hand-over; `ahead`: of the clock, by Unix time."""
    current = sender.hand_over
    if current is None:
        return None
    return HandOver(
        source=_stream_place(current.source),
        target=_stream_place(current.target),
        phase=_PHASES[sender.phase],
        began_at=round(ahead + current.began_at, 3),
        took_s=None if current.done_at is None else current.done_at - current.began_at,
        unready=len(frozenset(current.unready) - {_UNKNOWN}),
        next=None if sender.goal == current.target else _stream_place(sender.goal),
    )


def _stream_place(place: Place) -> StreamPlace:
    return StreamPlace(group=place.group, stream=place.stream)
