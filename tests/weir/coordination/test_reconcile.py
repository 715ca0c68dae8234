"""`reconcile`: what it says, carried out, gives what was wanted, by way of safe states."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from weir.coordination.reconcile import (
    AddLink,
    ClearGate,
    ClearLimit,
    EnsureChannel,
    Operation,
    RemoveLink,
    SetGate,
    SetLimit,
    gates_of,
    reconcile,
)
from weir.coordination.wire import (
    Bucket,
    ClassSpec,
    Delivery,
    Document,
    FlowSpec,
    Gate,
    Neighbour,
    Observed,
    Order,
    OrderPhase,
)

NAMES = st.sampled_from(("a", "b", "c", "d"))
GATES = st.builds(
    Gate, rate_per_s=st.sampled_from((1.0, 2.0, 5.0)), burst=st.sampled_from((1.0, 3.0))
)
PARTS = st.builds(
    Bucket,
    rate_per_s=st.sampled_from((0.0, 1.0, 5.0)),
    size=st.sampled_from((0.0, 0.5, 3.0)),
    count_only=st.booleans(),
)
CLASSES = st.builds(ClassSpec, flow=st.just("f"), limit=st.one_of(st.none(), st.integers(0, 3)))
ORDERS = st.lists(
    st.builds(
        lambda peers: Order(
            action="x",
            attempt=1,
            kind="shift_link",
            phase=OrderPhase.PREPARE,
            role="i",
            peers=dict(zip("ijk", ["me", *peers], strict=True)),
        ),
        st.lists(NAMES, min_size=2, max_size=2, unique=True),
    ),
    max_size=1,
)
DOCUMENTS = st.builds(
    Document,
    system=st.just("s"),
    broker=st.just("me"),
    version=st.just("v"),
    flows=st.dictionaries(NAMES, st.builds(FlowSpec, delivery=st.sampled_from(list(Delivery)))),
    gates=st.dictionaries(NAMES, GATES),
    buckets=st.dictionaries(NAMES, PARTS),
    classes=st.dictionaries(NAMES, CLASSES),
    neighbours=st.dictionaries(NAMES, st.builds(Neighbour, address=st.just("nats://x"))),
    orders=st.builds(tuple, ORDERS),
)
OBSERVED = st.builds(
    Observed,
    gates=st.dictionaries(NAMES, GATES),
    limits=st.dictionaries(NAMES, st.integers(0, 3)),
    links=st.builds(lambda links: tuple(sorted(links)), st.sets(NAMES)),
)


def carried_out(
    operation: Operation, observed: Observed, channels: dict[str, FlowSpec]
) -> Observed:
    """The operation done: the new observed state; `channels` is changed in place."""
    gates, limits, links = dict(observed.gates), dict(observed.limits), set(observed.links)
    match operation:
        case EnsureChannel(flow, spec):
            channels[flow] = spec
        case SetGate(flow, gate):
            gates[flow] = gate
        case ClearGate(flow):
            del gates[flow]
        case SetLimit(name, limit):
            limits[name] = limit
        case ClearLimit(name):
            del limits[name]
        case AddLink(broker, _):
            assert broker not in links
            links.add(broker)
        case RemoveLink(broker):
            links.remove(broker)
    return replace(observed, gates=gates, limits=limits, links=tuple(sorted(links)))


@given(DOCUMENTS, OBSERVED)
def test_carrying_it_out_gives_what_is_desired(document: Document, observed: Observed) -> None:
    channels: dict[str, FlowSpec] = {}
    start = observed
    for operation in reconcile(document, observed):
        observed = carried_out(operation, observed, channels)
    taken = {broker for order in document.orders for broker in order.peers.values()}
    assert observed.gates == gates_of(document)
    assert observed.limits == {
        name: spec.limit for name, spec in document.classes.items() if spec.limit is not None
    }
    assert set(observed.links) - taken == document.neighbours.keys() - taken
    assert set(observed.links) & taken == set(start.links) & taken
    assert channels == document.flows
    assert reconcile(document, observed, channels) == ()


@given(DOCUMENTS, OBSERVED)
def test_nothing_in_between_is_above_both_ends(document: Document, observed: Observed) -> None:
    start, now = observed, observed
    infinity = float("inf")
    open_gate = Gate(rate_per_s=infinity, burst=infinity)
    for operation in reconcile(document, observed):
        now = carried_out(operation, now, {})
        for flow in gates_of(document).keys() | start.gates.keys():
            gate = now.gates.get(flow, open_gate)
            first, last = start.gates.get(flow, open_gate), gates_of(document).get(flow, open_gate)
            assert gate.rate_per_s <= max(first.rate_per_s, last.rate_per_s)
            assert gate.burst <= max(first.burst, last.burst)


@given(DOCUMENTS, OBSERVED)
def test_takes_away_before_it_gives(document: Document, observed: Observed) -> None:
    gave = False
    now = observed
    for operation in reconcile(document, observed):
        after = carried_out(operation, now, {})
        match operation:
            case SetLimit(name, limit):
                gives = name in now.limits and limit > now.limits[name]
            case SetGate(flow, gate):
                old = now.gates.get(flow)
                gives = old is not None and (
                    gate.rate_per_s > old.rate_per_s or gate.burst > old.burst
                )
            case ClearGate(_) | ClearLimit(_):
                gives = True
            case _:
                now = after
                continue
        assert gives or not gave, f"{operation} takes away after something was given"
        gave |= gives
        now = after


@given(DOCUMENTS, OBSERVED)
def test_does_not_depend_on_the_order_of_the_entries(
    document: Document, observed: Observed
) -> None:
    def turned(mapping: dict[str, object]) -> dict[str, object]:
        return dict(reversed(mapping.items()))

    other = replace(
        document,
        flows=turned(dict(document.flows)),
        gates=turned(dict(document.gates)),
        classes=turned(dict(document.classes)),
        neighbours=turned(dict(document.neighbours)),
    )
    seen = replace(
        observed, gates=turned(dict(observed.gates)), limits=turned(dict(observed.limits))
    )
    assert reconcile(other, seen) == reconcile(document, observed)


@given(DOCUMENTS, OBSERVED, st.sets(NAMES))
def test_links_of_an_action_and_of_a_document_from_the_disk_stay(
    document: Document, observed: Observed, busy: set[str]
) -> None:
    taken = busy | {broker for order in document.orders for broker in order.peers.values()}
    for operation in reconcile(document, observed, busy=busy):
        if isinstance(operation, AddLink | RemoveLink):
            assert operation.broker not in taken
    unsure = reconcile(document, observed, busy=busy, complete=False)
    begun = [order for order in document.orders if order.phase is not OrderPhase.PREPARE]
    assert not {o.broker for o in unsure if isinstance(o, RemoveLink)} & taken
    # Who does not know its links takes those of an attempt that cannot begin without it.
    assert {o.broker for o in unsure if isinstance(o, AddLink)} == (
        document.neighbours.keys()
        - set(observed.links)
        - busy
        - {broker for order in begun for broker in order.peers.values()}
    )
    from_disk = reconcile(document, observed, links=False)
    assert not any(isinstance(o, AddLink | RemoveLink) for o in from_disk)
