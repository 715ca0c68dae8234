"""Manage the flows at one broker: their ingress, their gates and their delivery to consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agent.drivers.base import (
    Channel,
    Driver,
    DriverError,
    Fenced,
    NameTooLong,
    Place,
    Retryable,
    Source,
)
from agent.profile import ProfileKey
from agent.pump import Pump
from agent.telemetry import Tally
from weir.coordination.wire import KEEP_S, Bucket, Delivery, FlowSpec, Gate
from weir.queueing.counting_bucket import CountingBucket


class Flows:
    """Keep what is known of the flows, and a pump for each flow that enters here."""

    def __init__(
        self,
        driver: Driver,
        tally: Tally,
        *,
        pump: Callable[[Source], Pump],
        began: Callable[[], None],
        local_changed: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """Take the functions that this needs. `pump` makes a closed pump, and `began` is called
        once it is in `pumps`. `local_changed` is called when `local` has changed."""
        self._driver = driver
        self._tally = tally
        self._pump = pump
        self._began = began
        self._local_changed = local_changed
        self._clock = clock
        self.pumps: dict[str, Pump] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._gates: dict[str, Gate] = {}
        self._counting: dict[str, CountingBucket] = {}
        self._profiled: Mapping[str, ProfileKey] = {}
        self._keep_s: dict[str, int] = {}
        self._ensured: dict[str, int] = {}
        """Reliable flows whose delivery was ensured since the agent started -> how long messages
        are kept."""
        self._local: frozenset[str] | None = None

    @property
    def gates(self) -> dict[str, Gate]:
        """Return the gate in force of each flow."""
        return dict(self._gates)

    @property
    def ingress(self) -> Mapping[str, Delivery]:
        """Return the delivery with which each flow is read from publishers."""
        return {flow: pump.source.delivery for flow, pump in self.pumps.items()}

    @property
    def local(self) -> frozenset[str]:
        """Return the flows that this broker's own consumers want; none while not `local_known`."""
        return self._local or frozenset()

    @property
    def local_known(self) -> bool:
        """Return whether it is known which flows this broker's own consumers want."""
        return self._local is not None

    def delivery_of(self, flow: str) -> Delivery:
        """Return the delivery of a flow, as far as it is known here."""
        pump = self.pumps.get(flow)
        return (
            self._deliveries.get(flow, Delivery.BEST_EFFORT)
            if pump is None
            else (pump.source.delivery)
        )

    async def ensure_flow(self, flow: str, spec: FlowSpec) -> None:
        """Let the flow pass here, enter here if the broker is its ingress, and reach the consumers
        here that want it. Raises DriverError."""
        await self._ensure_ingress(flow, spec)
        if flow not in self.local:
            return
        try:
            await self._ensure_delivery(flow)
        except NameTooLong:
            # A message for a stream that never is would hold up everything behind it.
            self._take_local(self.local - {flow})
            raise

    async def forget_flow(self, flow: str) -> None:
        """Remove a flow that no document names any more."""
        await self._stop_ingress(flow)
        self._deliveries.pop(flow, None)
        self._keep_s.pop(flow, None)

    def set_gate(self, flow: str, gate: Gate | None) -> None:
        """Set the rate and burst of a flow's gate, or remove the gate with None."""
        if gate is None:
            self._gates.pop(flow, None)
        else:
            self._gates[flow] = gate
        if flow in self.pumps:
            self.pumps[flow].set_gate(gate, self._clock())

    def count(self, buckets: Mapping[str, Bucket]) -> None:
        """Count what these parts of buckets would hold of their flows, and of no others. A part
        that stays as it is goes on counting."""
        former, self._counting = self._counting, {}
        for flow, part in buckets.items():
            counting = former.get(flow)
            if counting is None or (counting.rate_per_s, counting.size) != (
                part.rate_per_s,
                part.size,
            ):
                counting = CountingBucket(
                    rate_per_s=part.rate_per_s, size=part.size, now=self._clock()
                )
            self._counting[flow] = counting
        for flow, pump in self.pumps.items():
            pump.counting = self._counting.get(flow)

    def set_profiles(self, keys: Mapping[str, ProfileKey]) -> None:
        """Record the waits of these flows, and of no others, since what each key holds came into
        force. Where it stays as it is the record goes on."""
        self._profiled = keys
        for flow, pump in self.pumps.items():
            pump.set_profile(keys.get(flow), self._clock())

    async def set_local(self, flows: Iterable[str]) -> dict[str, str]:
        """Set the flows that consumers here want: those of classes whose limit is not 0. Returns
        those that cannot be delivered here, each with the reason; they are left out.

        Before the first set is known, and while the broker is away, only flows whose name is too
        long are left out. For any other failure it raises DriverError and takes nothing, because
        those flows may have been delivered here before the agent started: their messages wait
        instead of being discarded.
        """
        wanted = frozenset(flows)
        failures: dict[str, str] = {}
        for flow in sorted(wanted - self.local):
            try:
                await self._ensure_delivery(flow)
            except Fenced:
                raise
            except NameTooLong as error:
                failures[flow] = str(error)
            except DriverError as error:
                if self._local is None or not self._driver.server:
                    raise
                failures[flow] = str(error)
        self._take_local(wanted - failures.keys())
        return failures

    async def ensure_deliveries(self) -> None:
        """Ensure all deliveries again, on another disk: a message on its way to a missing stream
        would hold up everything behind it. Raises the first DriverError once all were tried."""
        errors: list[DriverError] = []
        for flow, keep_s in sorted(self._ensured.items()):
            channel = Channel(place=Place.DELIVERY, delivery=Delivery.RELIABLE, flow=flow)
            try:
                await self._driver.ensure_channel(channel, keep_s=keep_s)
            except DriverError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    # --- helpers

    async def _ensure_ingress(self, flow: str, spec: FlowSpec) -> None:
        pump = self.pumps.get(flow)
        changed = pump is not None and pump.source.delivery is not spec.delivery
        if changed and spec.delivery is Delivery.RELIABLE:
            await self._stop_ingress(flow)
        if spec.ingress:
            try:
                await self._driver.ensure_channel(
                    Channel(place=Place.INGRESS, delivery=spec.delivery, flow=flow),
                    max_message_bytes=spec.max_message_bytes,
                )
            except Retryable:
                # Perhaps reliable messages have to pass first, and the agent ended before they had.
                if pump is None and spec.delivery is Delivery.BEST_EFFORT:
                    self._start_ingress(flow, Delivery.RELIABLE)
                raise
        if changed or not spec.ingress:
            await self._stop_ingress(flow)
        self._deliveries[flow], self._keep_s[flow] = spec.delivery, spec.keep_s
        if spec.ingress and flow not in self.pumps:
            self._start_ingress(flow, spec.delivery)

    def _start_ingress(self, flow: str, delivery: Delivery) -> None:
        pump = self._pump(Source(delivery=delivery, flow=flow))
        pump.set_gate(self._gates.get(flow), self._clock())
        pump.counting = self._counting.get(flow)
        pump.set_profile(self._profiled.get(flow), self._clock())
        self.pumps[flow] = pump
        self._began()

    async def _stop_ingress(self, flow: str) -> None:
        pump = self.pumps.pop(flow, None)
        if pump is not None:
            await self._tally.end(pump)
            await self._driver.stop_reading(pump.source)

    async def _ensure_delivery(self, flow: str) -> None:
        """Let consumers of the flow read here. Raises DriverError."""
        delivery = self._deliveries.get(flow, Delivery.BEST_EFFORT)
        keep_s = self._keep_s.get(flow, KEEP_S)
        await self._driver.ensure_channel(
            Channel(place=Place.DELIVERY, delivery=delivery, flow=flow), keep_s=keep_s
        )
        if delivery is Delivery.RELIABLE:
            self._ensured[flow] = keep_s

    def _take_local(self, flows: frozenset[str]) -> None:
        if flows != self._local:
            self._local = flows
            self._local_changed()
