"""Define what a participant persists over a restart, and what it sees of its agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from weir.coordination.effects import Effect, Persist, Say
from weir.coordination.tables import Tables
from weir.coordination.wire import Order, OrderPhase, Report, ReportPhase
from weir.errors import InvalidProblem


class Phase(StrEnum):
    """Name how far a participant is with its attempt."""

    PREPARING = "preparing"
    READY = "ready"
    REFUSED = "refused"
    SWITCHED = "switched"
    RELEASED = "released"
    FORGOTTEN = "forgotten"
    """May have voted before its memory was lost: it refuses, and stays paused like one that has."""


BUSY = frozenset({Phase.PREPARING, Phase.READY, Phase.FORGOTTEN})
"""Intake is stopped, or will be: no other action may begin at this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantState:
    """Hold what is persisted: enough to continue after a restart and keep every promise."""

    action: str
    attempt: int
    kind: str
    role: str
    peers: Mapping[str, str]
    addresses: Mapping[str, str] = field(default_factory=dict)
    phase: Phase = Phase.PREPARING
    interest: tuple[str, ...] = ()
    """The vote: flows wanted on the own side, sorted."""
    paused_at: float | None = None
    """Seconds; when intake was stopped for this attempt."""
    pause_s: float | None = None
    detail: str = ""
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Switched: the commit's, role -> flows, for peers that have not heard it."""
    by_hand: str = ""
    """A person decided the outcome, for this reason, and the control plane has not agreed yet."""
    unheard: bool = False
    """Refused because a peer asked, before any document held this attempt's order."""


SAYS: Mapping[Phase, ReportPhase] = {
    Phase.READY: ReportPhase.READY,
    Phase.REFUSED: ReportPhase.REFUSED,
    Phase.SWITCHED: ReportPhase.SWITCHED,
    Phase.RELEASED: ReportPhase.RELEASED,
    Phase.FORGOTTEN: ReportPhase.REFUSED,
}
"""What the control plane hears of each phase; of the others nothing."""


def report_of(state: ParticipantState) -> Report:
    """Return the report that tells the participant's state."""
    return Report(
        action=state.action,
        attempt=state.attempt,
        phase=SAYS[state.phase],
        interest=state.interest if state.phase is Phase.READY else (),
        pause_s=state.pause_s,
        detail=state.detail,
        interests=state.interests if state.phase is Phase.SWITCHED else {},
        by_hand=state.by_hand,
    )


def state_of(order: Order, phase: Phase) -> ParticipantState:
    """Return the first state of a participant that knows its action from this order alone."""
    return ParticipantState(
        action=order.action,
        attempt=order.attempt,
        kind=order.kind,
        role=order.role,
        peers=dict(order.peers),
        addresses=dict(order.addresses),
        phase=phase,
    )


def after_switch(
    state: ParticipantState, order: Order
) -> tuple[ParticipantState, list[Effect] | None]:
    """What follows from an order to one that has switched, before it says so again; None: nothing.

    What has switched stays so. A document that wants otherwise does not know it yet (a person
    decided, or its database was restored).
    """
    same = order.attempt == state.attempt
    if order.phase is OrderPhase.COMMIT:
        if same and not state.by_hand:
            return state, None
        state = replace(state, attempt=order.attempt, by_hand="")
        return state, [Persist(state)]
    if same:
        return state, []
    refused = replace(
        report_of(state),
        attempt=order.attempt,
        phase=ReportPhase.REFUSED,
        detail=f"has switched in attempt {state.attempt}",
    )
    return state, [Say(refused)]


def state_to_dict(state: ParticipantState) -> dict[str, Any]:
    """Write the state as a plain dict for the agent's state directory."""
    return asdict(state)


def state_from_dict(plain: Mapping[str, Any]) -> ParticipantState:
    """Read a state from a plain dict; raise InvalidProblem where it has another shape."""
    try:
        interests = {role: tuple(flows) for role, flows in plain.get("interests", {}).items()}
        return ParticipantState(
            **{
                **plain,
                "phase": Phase(plain["phase"]),
                "interest": tuple(plain["interest"]),
                "interests": interests,
            }
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidProblem("state", f"not a participant's state: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Here:
    """Hold what a participant sees of its agent at the moment of an input."""

    local: frozenset[str]
    """Flows that this broker wants itself."""
    tables: Tables
    now: float
    """Seconds, the same clock before and after a restart."""
    known: bool = True
    """Whether the agent knows all of its links and what its own consumers want. As long as it does
    not, it begins no attempt: its vote would leave flows out."""
    answering: frozenset[str] = frozenset()
    """Neighbours whose broker answers on its link at this moment."""
