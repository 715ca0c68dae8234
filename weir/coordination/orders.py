"""What documents order of the participants of a tree action: one rule for every control plane."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from weir.coordination.removal import is_gone
from weir.coordination.views import ActionView, Protocol
from weir.coordination.wire import Order, OrderPhase
from weir.lifecycle.steps import ActionState

ORDER_PHASES: Mapping[ActionState, OrderPhase] = {
    ActionState.PREPARING: OrderPhase.PREPARE,
    ActionState.COMMITTED: OrderPhase.COMMIT,
    ActionState.DEAD: OrderPhase.COMMIT,
    ActionState.ABORTING: OrderPhase.ABORT,
}
"""What the documents of a tree action's participants say; in every other state: nothing.

`dead` keeps saying COMMIT: to an agent, a missing order means that it was aborted.
"""


def orders_of(
    action: ActionView,
    addresses: Mapping[str, str],
    keys: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Order]:
    """Broker -> the order that its document carries for this action; who is gone gets none.

    Of the view only `id`, `attempt`, `kind`, `protocol`, `state`, `participants` and `interests`
    are read.
    """
    phase = ORDER_PHASES.get(action.state)
    if action.protocol is not Protocol.TREE or phase is None:
        return {}
    peers = dict(action.participants)
    brokers = sorted(set(peers.values()))
    return {
        broker: Order(
            action=action.id,
            attempt=action.attempt,
            kind=action.kind,
            phase=phase,
            role=role,
            peers=peers,
            addresses={b: addresses[b] for b in brokers if b in addresses},
            keys={b: keys[b] for b in brokers if keys.get(b)},
            interests=dict(action.interests) if phase is OrderPhase.COMMIT else {},
        )
        for role, broker in peers.items()
        if not is_gone(role)
    }
