"""List the operations, in a safe order, that turn what is observed at a broker into its document.

What takes away comes before what gives: gates and limits are lowered (which evicts), links leave,
then links come and gates and limits are raised. So no moment between two operations lets
more through than the larger of the two states. Links that take part in an action belong to
its participant and are never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from weir.coordination.wire import Document, FlowSpec, Gate, Observed, Order, OrderPhase


@dataclass(frozen=True, slots=True)
class EnsureChannel:
    """Create whatever the driver needs for this flow, where it is missing."""

    flow: str
    spec: FlowSpec


@dataclass(frozen=True, slots=True)
class SetGate:
    """Set a token bucket that this flow has to pass at this ingress."""

    flow: str
    gate: Gate


@dataclass(frozen=True, slots=True)
class ClearGate:
    """Remove the token bucket of this flow, so that every message passes."""

    flow: str


@dataclass(frozen=True, slots=True)
class SetLimit:
    """Admit at most `limit` consumers of the class; evict those above it now."""

    consumer_class: str
    limit: int


@dataclass(frozen=True, slots=True)
class ClearLimit:
    """Enforce no limit. Consumers of a class the document does not name are not admitted anyway."""

    consumer_class: str


@dataclass(frozen=True, slots=True)
class AddLink:
    """Add a link to the tables; nothing is known yet of what the neighbour wants."""

    broker: str
    address: str


@dataclass(frozen=True, slots=True)
class RemoveLink:
    """Remove a link from the tables, once nothing waits on it."""

    broker: str


Operation = EnsureChannel | SetGate | ClearGate | SetLimit | ClearLimit | AddLink | RemoveLink


def reconcile(
    desired: Document,
    observed: Observed,
    channels: Mapping[str, FlowSpec] | None = None,
    busy: Collection[str] = (),
    *,
    links: bool = True,
    complete: bool = True,
) -> tuple[Operation, ...]:
    """What to do at this broker, in this order. Nothing when everything is as desired.

    `channels`: flows whose channel this agent has ensured already, as what.
    `busy`: brokers of actions that this agent takes part in (`OrderBook.busy`), beside those of
    the document's orders. `links` False leaves all links alone: a document from the disk may
    be older than the tables beside it. `complete` False: this agent does not know its links yet,
    so it takes part in nothing that is being prepared and takes those links, too.
    """
    known = channels or {}
    ensure = [
        EnsureChannel(flow, spec)
        for flow, spec in sorted(desired.flows.items())
        if known.get(flow) != spec
    ]
    lower, raise_ = _gates(gates_of(desired), observed.gates)
    limits = {name: spec.limit for name, spec in desired.classes.items() if spec.limit is not None}
    fewer, more = _limits(limits, observed.limits)
    leave, come = _links(desired, observed, busy, complete) if links else ([], [])
    return (*ensure, *lower, *fewer, *leave, *come, *raise_, *more)


def gates_of(desired: Document) -> dict[str, Gate]:
    """Return what flows have to pass here: a part of a bucket that is enforced takes the place of a
    gate."""
    parts = {flow: bucket.gate for flow, bucket in desired.buckets.items()}
    return {**desired.gates, **{flow: gate for flow, gate in parts.items() if gate is not None}}


def _gates(
    desired: Mapping[str, Gate], observed: Mapping[str, Gate]
) -> tuple[list[Operation], list[Operation]]:
    lower: list[Operation] = []
    raise_: list[Operation] = []
    for flow, gate in sorted(desired.items()):
        now = observed.get(flow)
        if now is None or (gate.rate_per_s <= now.rate_per_s and gate.burst <= now.burst):
            if gate != now:
                lower.append(SetGate(flow, gate))
        else:
            smaller = Gate(
                rate_per_s=min(gate.rate_per_s, now.rate_per_s), burst=min(gate.burst, now.burst)
            )
            if smaller != now:
                lower.append(SetGate(flow, smaller))
            raise_.append(SetGate(flow, gate))
    raise_ += [ClearGate(flow) for flow in sorted(observed) if flow not in desired]
    return lower, raise_


def _limits(
    desired: Mapping[str, int], observed: Mapping[str, int]
) -> tuple[list[Operation], list[Operation]]:
    fewer: list[Operation] = []
    more: list[Operation] = []
    for name, limit in sorted(desired.items()):
        now = observed.get(name)
        if now != limit:
            (fewer if now is None or limit < now else more).append(SetLimit(name, limit))
    more += [ClearLimit(name) for name in sorted(observed) if name not in desired]
    return fewer, more


def _links(
    desired: Document, observed: Observed, busy: Collection[str], complete: bool
) -> tuple[list[Operation], list[Operation]]:
    def peers(orders: Iterable[Order]) -> set[str]:
        return {broker for order in orders for broker in order.peers.values()}

    taken = set(busy) | peers(desired.orders)
    now = set(observed.links)
    leave: list[Operation] = [
        RemoveLink(broker) for broker in sorted(now - desired.neighbours.keys() - taken)
    ]
    if not complete:
        begun = [order for order in desired.orders if order.phase is not OrderPhase.PREPARE]
        taken = set(busy) | peers(begun)
    come: list[Operation] = [
        AddLink(broker, neighbour.address)
        for broker, neighbour in sorted(desired.neighbours.items())
        if broker not in now and broker not in taken
    ]
    return leave, come
