"""Documents carried out on a virtual broker that refuses what a test says it shall refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.drivers.base import (
    Channel,
    DriverError,
    NameTooLong,
    Place,
    Retryable,
    Source,
    Unsupported,
)
from agent.drivers.simulated.broker import VirtualBroker, VirtualNetwork
from agent.drivers.simulated.driver import SimulatedDriver
from agent.enforcement import Enforcer
from agent.router import Router
from weir.coordination.wire import (
    KEEP_S,
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Publishers,
)

GATE = Gate(rate_per_s=10.0, burst=5.0)


class Stubborn(SimulatedDriver):
    """A virtual broker that refuses what a test says it shall refuse."""

    def __init__(self, network: VirtualNetwork) -> None:
        super().__init__(network=network, address="sim://a", broker="a")
        self.keeps_evicted = False
        self.cannot_stream = False
        self.too_long: frozenset[str] = frozenset()
        self.no_room: frozenset[str] = frozenset()
        self.calls: list[dict[str, int | None]] = []
        self.made: list[Channel] = []
        self.cannot_assign = False
        self.lists: list[dict[str, tuple[str, ...]]] = []
        """What was let in, one after the other."""
        self.made_by_then: list[set[str]] = []
        """The flows with a channel at that time."""
        self.still_connected: frozenset[str] = frozenset()
        self.process = "one"

    @property
    def server(self) -> str:
        return self.process

    async def assign(self, publishers: Mapping[str, Publishers]) -> frozenset[str]:
        if self.cannot_assign:
            raise Unsupported("this needs a server whose auth callout asks this agent")
        lists = {flow: one.here for flow, one in publishers.items()}
        if not self.lists or lists != self.lists[-1]:
            self.lists.append(lists)
            self.made_by_then.append({channel.flow for channel in self.made})
        await super().assign(publishers)
        return self.still_connected

    async def admit(self, classes: Mapping[str, ClassSpec], *, unmanaged: str) -> None:
        self.calls.append({name: spec.limit for name, spec in classes.items()})
        if self.keeps_evicted:
            raise Retryable("2 consumers above their limit have not left yet")
        await super().admit(classes, unmanaged=unmanaged)

    async def ensure_channel(
        self, channel: Channel, *, max_message_bytes: int = 0, keep_s: int = KEEP_S
    ) -> None:
        if self.cannot_stream and channel.delivery is Delivery.RELIABLE:
            raise Unsupported("the reliable class needs a server with JetStream")
        if channel.flow in self.too_long:
            raise NameTooLong("the name is too long")
        if channel.flow in self.no_room and channel.place is Place.DELIVERY:
            raise DriverError("no room for another stream")
        self.made.append(channel)
        await super().ensure_channel(channel)


class Here:
    def __init__(self) -> None:
        self.network = VirtualNetwork()
        self.driver = Stubborn(self.network)
        self.router = Router(self.driver)
        self.busy: frozenset[str] = frozenset()
        self.news = 0
        self.enforcer = Enforcer(
            driver=self.driver,
            router=self.router,
            busy=lambda: self.busy,
            changed=self._changed,
        )

    def _changed(self) -> None:
        self.news += 1

    @property
    def broker(self) -> VirtualBroker:
        return self.network.at("sim://a")

    async def apply(
        self, document: Document, *, current: Callable[[], bool] = lambda: True
    ) -> bool:
        return await self.enforcer.apply(document, current=current)

    def sent_on(self, flow: str) -> set[str]:
        """To which neighbours a message that comes in now would go."""
        source = Source(delivery=Delivery.RELIABLE, flow=flow)
        return {channel.neighbour for channel in self.router._route(flow, source)} - {""}


def document(version: str = "v1", **members: object) -> Document:
    known = {"system": "s", "broker": "a", "version": version, **members}
    return Document(**known)  # type: ignore[arg-type]


FULL = document(
    flows={"f": FlowSpec(delivery=Delivery.RELIABLE, ingress=True), "g": FlowSpec()},
    gates={"f": GATE},
    classes={"k": ClassSpec(flow="f", limit=3), "open": ClassSpec(flow="g")},
    neighbours={"b": Neighbour(address="sim://b")},
)
