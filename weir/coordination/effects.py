"""Define the effects that a participant asks of its agent, which carries them out in order.

`Persist` must be durable before the next effect begins: marks and votes are promises that a
restart may not break. All effects may be asked for again; carrying one out twice is once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weir.coordination.wire import Report

if TYPE_CHECKING:
    from weir.coordination.participant_state import ParticipantState
    from weir.coordination.tables import Tables
    from weir.coordination.termination import Question


@dataclass(frozen=True, slots=True)
class Mark:
    """What travels in-band: behind it nothing of `origin` comes any more in this attempt."""

    action: str
    attempt: int
    origin: str
    """The broker that stopped its intake, not the one that relays the mark."""


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the participant's state, and the tables when given, in one atomic durable step."""

    state: ParticipantState
    tables: Tables | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove the persisted state of an action that is over."""

    action: str


@dataclass(frozen=True, slots=True)
class PauseIntake:
    """Read no ingress and no link but those in `keep`; replaces any earlier pause or hold.

    When every message already read from the others has been published and settled, the agent
    calls `on_drained(action, attempt)`.
    """

    action: str
    attempt: int
    keep: frozenset[str]


@dataclass(frozen=True, slots=True)
class HoldLink:
    """Stop reading from this neighbour, before its next message."""

    broker: str


@dataclass(frozen=True, slots=True)
class ResumeIntake:
    """Read again from the ingress and from every link of the tables."""


@dataclass(frozen=True, slots=True)
class EnsureLink:
    """Make both directions of a new link usable, without forwarding over it yet.

    The outbox for the neighbour exists here, and this agent is subscribed to the neighbour's
    outbox for it. Then `on_link_ready(broker)`, or `on_link_failed(broker, why)` after giving up.
    """

    broker: str
    address: str


@dataclass(frozen=True, slots=True)
class DropLink:
    """Remove the outbox for this neighbour and the subscription to its outbox."""

    broker: str


@dataclass(frozen=True, slots=True)
class LiftBound:
    """Let the outbox for this neighbour, who is gone, hold whatever waits for room in it, until
    the intake resumes.

    A full outbox would keep what is on its way to it from draining for ever.
    """

    broker: str


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Copy everything in the outbox for `gone`, in its order, to the end of the one for `to`.

    The copies carry the identity of their originals: done twice is done once. Nothing is written
    to either meanwhile, and `to` reads nothing. Then `on_carried(action, attempt, to, why)`;
    `why` when it cannot be done, or `gone` has read from its outbox meanwhile.
    """

    action: str
    attempt: int
    gone: str
    to: str


@dataclass(frozen=True, slots=True)
class SendMark:
    """Append a mark to the outbox for `to`, behind everything that is in it."""

    to: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class SwapTables:
    """Forward by these tables from now on; they were persisted by the `Persist` before."""

    tables: Tables


@dataclass(frozen=True, slots=True)
class Say:
    """Report to the control plane. It may get lost: the participant repeats it on `tick`."""

    report: Report


@dataclass(frozen=True, slots=True)
class AskPeer:
    """Ask a participant's agent where it stands; `on_answer` when it says so. It may get lost."""

    broker: str
    question: Question


Effect = (
    Persist
    | Forget
    | PauseIntake
    | HoldLink
    | ResumeIntake
    | EnsureLink
    | DropLink
    | LiftBound
    | CarryOver
    | SendMark
    | SwapTables
    | Say
    | AskPeer
)
