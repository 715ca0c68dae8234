"""Define questions between agents about one attempt; see `weir.coordination.termination`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from weir.errors import InvalidProblem


class Stance(StrEnum):
    """Name where an asked participant stands with an attempt."""

    READY = "ready"
    SWITCHED = "switched"
    RELEASED = "released"
    """Released or refused it, or has never voted and now never will."""
    UNSURE = "unsure"
    """Its memory was lost: what it voted before, it cannot say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How do you stand with this attempt? Enough of its order to refuse an attempt unheard of."""

    action: str
    attempt: int
    kind: str
    peers: Mapping[str, str]
    role: str
    """Of the participant that is asked."""
    asker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Said only after what it says is on the answering agent's disk."""

    action: str
    attempt: int
    """The attempt that was asked about."""
    broker: str
    stance: Stance
    interest: tuple[str, ...] = ()
    """Ready: the flows of its vote."""
    interests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Switched: those of the commit, so that the asker can switch too."""
    by_hand: str = ""
    """Why a person decided, when one did."""


def question_to_dict(question: Question) -> dict[str, Any]:
    """Write the question as a plain dict for a message between agents."""
    return asdict(question)


def question_from_dict(plain: Any) -> Question:
    """Read a question from a plain dict; raise InvalidProblem where it has another shape."""
    try:
        return Question(
            action=str(plain["action"]),
            attempt=int(plain["attempt"]),
            kind=str(plain["kind"]),
            peers={str(role): str(broker) for role, broker in plain["peers"].items()},
            role=str(plain["role"]),
            asker=str(plain["asker"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidProblem("question", f"not a question: {error!r}") from error


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """Write the answer as a plain dict for a message between agents."""
    return asdict(answer)


def answer_from_dict(plain: Any) -> Answer:
    """Read an answer from a plain dict; raise InvalidProblem where it has another shape."""
    try:
        return Answer(
            action=str(plain["action"]),
            attempt=int(plain["attempt"]),
            broker=str(plain["broker"]),
            stance=Stance(plain["stance"]),
            interest=tuple(str(flow) for flow in plain["interest"]),
            interests={
                str(role): tuple(str(flow) for flow in flows)
                for role, flows in plain["interests"].items()
            },
            by_hand=str(plain["by_hand"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidProblem("answer", f"not an answer: {error!r}") from error
