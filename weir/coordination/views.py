"""Define what the coordinator reads: an execution as plain data, read under its row lock; and what
documents order of the participants of its tree actions, one rule for every control plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from weir.coordination import removal
from weir.coordination.wire import Order, OrderPhase, Report
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState, StepState


class Protocol(StrEnum):
    """Name how an action is carried out."""

    SETTING = "setting"
    """Desired state is written; agents show that it is in force."""
    TREE = "tree"
    """Orders in two phases to every participant."""


class Direction(StrEnum):
    """Distinguish steps that carry out a plan from steps that undo it."""

    FORWARD = "forward"
    UNDO = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionView:
    """One action. `state` and `attempt` (0 before the first) are what the database holds."""

    id: str
    protocol: Protocol
    kind: str
    state: ActionState
    participants: Mapping[str, str] = field(default_factory=dict)
    """Tree: role -> broker."""
    awaited: frozenset[str] = frozenset()
    """Setting: the brokers that must show it."""
    confirmed_by: frozenset[str] = frozenset()
    """Setting: those whose observed state equals `desired` as it is now."""
    follows: frozenset[str] | None = frozenset()
    """Setting that Weir keeps itself: the brokers that must follow once it is committed. None: who
    that is is known only then."""
    followed_by: frozenset[str] = frozenset()
    """Those of `follows` that were seen to have followed."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """Setting: broker -> why it cannot do what it is asked for, or what it does instead of having
    followed, as its agent says."""
    waits: str = ""
    """Setting: what has to happen before its agent is asked for the new value, in words."""
    attempt: int = 0
    deadline: float | None = None
    """Of the state it is in: preparing, committed, or aborting."""
    reports: Mapping[str, tuple[Report, ...]] = field(default_factory=dict)
    """Broker -> its reports; those of other attempts are ignored."""
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """From the commit on."""
    final: bool = False
    """It cannot be rolled back: a rollback leaves it as it is."""
    inverts: str | None = None
    """In undo steps: the action that it takes back."""
    title: str = ""
    """For sentences, such as "shift e1-e2 to e1-e3"."""
    detail: str = ""
    """Why it was aborted or buried last."""
    by_hand: str = ""
    """Why a person ended it; it is not tried again."""
    releases: bool = False
    """Setting: clients have to leave first, and what they have sent has to pass."""

    @property
    def brokers(self) -> frozenset[str]:
        """Return the brokers of all roles and those that are awaited."""
        return self.awaited | frozenset(self.participants.values())

    @property
    def voting_roles(self) -> frozenset[str]:
        """Return the roles of a tree action whose brokers take part."""
        return frozenset(role for role in self.participants if not removal.is_gone(role))

    @property
    def voters(self) -> frozenset[str]:
        """Return the brokers that take part in a tree action; a broker that is gone has no vote."""
        return frozenset(self.participants[role] for role in self.voting_roles)

    @property
    def gone(self) -> frozenset[str]:
        """Return the brokers that a tree action removes because they are gone for good."""
        return frozenset(self.participants.values()) - self.voters


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """Hold one step with its actions, in the order in which they begin."""

    id: str
    index: int
    state: StepState
    actions: tuple[ActionView, ...]
    direction: Direction = Direction.FORWARD
    ended_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionView:
    """Hold an execution with its steps in order, undo steps after the forward ones."""

    state: ExecutionState
    steps: tuple[StepView, ...]
    live: frozenset[str]
    """Brokers whose agents hold a lease now."""
    removed: frozenset[str] = frozenset()
    """Brokers that a plan has removed because they are gone for good: nobody waits for them."""
    pace_s: float = 0.0
    """Least time between the end of a step and the beginning of the next."""
    roll_back_pace_s: float = 0.0
    """The same before a step that takes something back."""
    max_parallel: int = 8
    """Most actions under way at once."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Broker -> what people call it; absent: the id itself."""

    def called(self, brokers: Iterable[str]) -> str:
        """List brokers in a sentence by the names that people use: `a, b and c`."""
        names = sorted(self.names.get(broker, broker) for broker in brokers)
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    def step_name(self, step: str) -> str:
        """Name a step as the page of the plan counts it: `Step 2`, or `Roll back 1`."""
        back = {each.id for each in self.steps if each.direction is Direction.UNDO}
        alike = [each.id for each in self.steps if (each.id in back) is (step in back)]
        return f"{'Roll back' if step in back else 'Step'} {alike.index(step) + 1}"


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
        if not removal.is_gone(role)
    }
