"""End attempts whose outcome a participant does not hear: the participants ask each other.

Cooperative termination of the two-phase commit (D. Skeen, *Nonblocking Commit Protocols*, SIGMOD
1981; P. Bernstein, V. Hadzilacos, N. Goodman, *Concurrency Control and Recovery in Database
Systems*, 1987, §7.4). A participant is in doubt when the control plane has been silent for
`DOUBT_S`, or answers but has given no outcome for `PATIENCE_S`. Then:

| it has | it |
|---|---|
| not voted | refuses the attempt by itself: without its vote nobody can commit |
| voted, and a peer has switched | switches, by the order that the peer hands over |
| voted, and a peer has released, refused or never voted | releases |
| voted, and so have all peers | stays paused, says so, waits for the outcome or a person |
| lost its memory since the attempt began | does as one that has voted, and answers "unsure" |

Who is gone for good (`weir.coordination.removal`) has no vote: it is neither asked nor waited for.
Whoever is asked and has not voted refuses the attempt for good BEFORE it answers, so that "not
voted" stays true: no late vote can let the coordinator commit what the asker has released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from weir.coordination import removal
from weir.coordination.effects import AskPeer, Effect, Persist
from weir.coordination.participant import BUSY, Here, Participant, ParticipantState, Phase
from weir.coordination.wire import Order, OrderPhase
from weir.errors import InvalidProblem

DOUBT_S = 5.0
"""The control plane's silence after which a participant asks its peers."""
PATIENCE_S = 120.0
"""How long an attempt may go without an outcome although the control plane answers; longer than
the last attempt's deadline, and as long as a step may be stuck when its coordinator is away."""
ASK_S = 1.0
"""Between two questions to the same peer."""
FRESH_S = 5.0
"""How old a peer's vote may be when a person decides to commit on it."""
ABSENCES = 2
"""Documents without the order after which a refusal given to a peer may be forgotten: the request
for the first may have begun before the refusal, the request for the second began after it."""
BOUND = frozenset({Phase.READY, Phase.FORGOTTEN})
"""Has voted, or may have: only an outcome releases it."""
ENDED_MOST = 256
"""Actions that are over and of which it is remembered, until a restart, how they ended."""


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


class Outcome(StrEnum):
    """Name what a person may decide for a participant in doubt."""

    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Describe one participant that stays paused because nobody it can ask knows the outcome."""

    action: str
    attempt: int
    kind: str
    since: float
    voted: tuple[str, ...]
    """Peers that wait for the outcome like this one."""
    silent: tuple[str, ...]
    """Peers that do not answer, or cannot say."""


@dataclass(slots=True)
class _Doubt:
    of: tuple[int, Phase]
    since: float
    ask_at: float = 0.0
    answers: dict[str, tuple[float, Answer]] = field(default_factory=dict)


class Termination:
    """Handle the doubts of one agent's participants."""

    doubt_s = DOUBT_S
    patience_s = PATIENCE_S

    def __init__(
        self,
        participants: dict[str, Participant],
        make: Callable[[ParticipantState], Participant],
        *,
        remembers: bool,
    ) -> None:
        """`participants` is the order book's own. `remembers` False: the state directory is new,
        so that nobody knows what this agent has voted before."""
        self._participants = participants
        self._make = make
        self._remembers = remembers
        self._heard_at = float("-inf")
        self._doubts: dict[str, _Doubt] = {}
        self._absences: dict[str, int] = {}
        self._ended: dict[str, Stance] = {}

    # --- time

    def heard(self, now: float) -> None:
        """Note the time at which the control plane last answered."""
        self._heard_at = max(self._heard_at, now)

    @property
    def next_tick(self) -> float:
        """Return the time at which `tick` has something to do; infinity for never."""
        return min(
            (self._due(p) for p in self._participants.values() if p.state.phase in BUSY),
            default=float("inf"),
        )

    def _due(self, participant: Participant) -> float:
        doubt = self._doubts.get(participant.state.action)
        if doubt is None or doubt.of != _stage(participant):
            return float("-inf")
        return max(self._begins(doubt), doubt.ask_at)

    def _begins(self, doubt: _Doubt) -> float:
        silent = max(doubt.since, self._heard_at) + self.doubt_s
        return min(silent, doubt.since + self.patience_s)

    def tick(self, here: Here) -> list[Effect]:
        """Refuse attempts without a vote of this broker, and ask peers about attempts with one."""
        effects: list[Effect] = []
        for action, participant in self._participants.items():
            if participant.state.phase not in BUSY:
                self._doubts.pop(action, None)
                continue
            stage = _stage(participant)
            doubt = self._doubts.get(action)
            if doubt is None or doubt.of != stage:
                self._doubts[action] = _Doubt(of=stage, since=here.now)
            elif here.now >= max(self._begins(doubt), doubt.ask_at):
                doubt.ask_at = here.now + ASK_S
                effects += self._doubtful(participant, here)
        return effects

    def _doubtful(self, participant: Participant, here: Here) -> list[Effect]:
        state = participant.state
        if state.phase is Phase.PREPARING:
            return participant.refuse("heard no outcome in time and had not voted", here)
        return [
            AskPeer(
                broker,
                Question(
                    action=state.action,
                    attempt=state.attempt,
                    kind=state.kind,
                    peers=dict(state.peers),
                    role=role,
                    asker=state.peers[state.role],
                ),
            )
            for role, broker in sorted(state.peers.items())
            if role != state.role and not removal.is_gone(role)
        ]

    # --- questions and answers

    def on_question(self, question: Question, here: Here) -> tuple[list[Effect], Answer]:
        """Where this participant stands. The answer may leave when the effects are carried out.

        Raises InvalidProblem when the question is not from a participant of the action.
        """
        if question.asker not in question.peers.values() or question.role not in question.peers:
            raise InvalidProblem("question", f"{question.asker} takes no part in the action")
        participant = self._participants.get(question.action)
        if participant is None:
            if question.action in self._ended:
                return [], self._answer(question, self._ended[question.action])
            if not self._remembers:
                return [], self._answer(question, Stance.UNSURE)
            return self._refuse_unheard(question, here), self._answer(question, Stance.RELEASED)
        state = participant.state
        if question.asker not in state.peers.values():
            raise InvalidProblem("question", f"{question.asker} takes no part in the action")
        if state.phase is Phase.SWITCHED:
            # Whatever attempt it was: what has switched goes no way back.
            answer = self._answer(question, Stance.SWITCHED)
            return [], replace(answer, interests=dict(state.interests), by_hand=state.by_hand)
        if question.attempt < state.attempt:
            # The next attempt begins only when the one before was aborted.
            return [], self._answer(question, Stance.RELEASED)
        effects: list[Effect] = []
        if question.attempt > state.attempt:
            effects = participant.refuse_unheard(question.attempt, _why(question), here)
        elif state.phase is Phase.READY:
            return [], replace(self._answer(question, Stance.READY), interest=state.interest)
        elif state.phase is Phase.FORGOTTEN:
            return [], self._answer(question, Stance.UNSURE)
        elif state.phase is Phase.PREPARING:
            effects = participant.refuse(_why(question), here)
        return effects, replace(self._answer(question, Stance.RELEASED), by_hand=state.by_hand)

    def _refuse_unheard(self, question: Question, here: Here) -> list[Effect]:
        participant = self._make(
            ParticipantState(
                action=question.action,
                attempt=0,
                kind=question.kind,
                role=question.role,
                peers=dict(question.peers),
                phase=Phase.RELEASED,
            )
        )
        self._participants[question.action] = participant
        return participant.refuse_unheard(question.attempt, _why(question), here)

    @staticmethod
    def _answer(question: Question, stance: Stance) -> Answer:
        return Answer(
            action=question.action,
            attempt=question.attempt,
            broker=question.peers[question.role],
            stance=stance,
        )

    def on_answer(self, answer: Answer, here: Here) -> list[Effect]:
        """What a peer said; it changes nothing unless this attempt still waits for its outcome."""
        participant = self._participants.get(answer.action)
        if participant is None or participant.state.phase not in BOUND:
            return []
        state = participant.state
        doubt = self._doubts.get(answer.action)
        if doubt is None or answer.attempt != state.attempt:
            return []
        if answer.broker not in state.peers.values():
            return []
        match answer.stance:
            case Stance.SWITCHED:
                return _end(participant, OrderPhase.COMMIT, here, answer.by_hand, answer.interests)
            case Stance.RELEASED:
                return _end(participant, OrderPhase.ABORT, here, answer.by_hand)
            case Stance.READY | Stance.UNSURE:
                doubt.answers[answer.broker] = here.now, answer
        return []

    # --- people

    def waits(self, now: float) -> tuple[Wait, ...]:
        """List the participants that stay paused without an outcome, and whom each waits for."""
        waiting = []
        for action, participant in self._participants.items():
            doubt, state = self._doubts.get(action), participant.state
            if state.phase not in BOUND or doubt is None or now < self._begins(doubt):
                continue
            voted = self._voted(doubt, state, now)
            others = {b for role, b in state.peers.items() if not removal.is_gone(role)}
            others -= {state.peers[state.role]}
            waiting.append(
                Wait(
                    action=action,
                    attempt=state.attempt,
                    kind=state.kind,
                    since=doubt.since if state.paused_at is None else state.paused_at,
                    voted=tuple(sorted(voted)),
                    silent=tuple(sorted(others - voted.keys())),
                )
            )
        return tuple(waiting)

    def decide(self, action: str, outcome: Outcome, reason: str, here: Here) -> list[Effect]:
        """A person's decision for a participant in doubt. Raises InvalidProblem when there is
        nothing to decide, or when a commit lacks a peer's vote."""
        participant = self._participants.get(action)
        doubt = self._doubts.get(action)
        if participant is None or participant.state.phase not in BOUND:
            raise InvalidProblem("action", f"{action} does not wait for an outcome at this agent")
        if doubt is None or here.now < self._begins(doubt):
            raise InvalidProblem(
                "action",
                "the control plane answers; decide on the page of the execution instead",
            )
        state = participant.state
        if outcome is Outcome.ABORT:
            return _end(participant, OrderPhase.ABORT, here, reason)
        if state.phase is Phase.FORGOTTEN:
            raise InvalidProblem(
                "outcome",
                "a commit needs the vote of every participant, and this agent has lost its own "
                "with its state directory; abort",
            )
        voted = self._voted(doubt, state, here.now)
        interests = {
            role: state.interest if role == state.role else voted[broker].interest
            for role, broker in state.peers.items()
            if role == state.role or broker in voted
        }
        missing = sorted(
            broker
            for role, broker in state.peers.items()
            if role not in interests and not removal.is_gone(role)
        )
        if missing:
            raise InvalidProblem(
                "outcome",
                f"a commit needs the vote of every participant, and {', '.join(missing)} does not "
                "answer; bring it back or abort",
            )
        return _end(participant, OrderPhase.COMMIT, here, reason, interests)

    @staticmethod
    def _voted(doubt: _Doubt, state: ParticipantState, now: float) -> dict[str, Answer]:
        return {
            broker: answer
            for broker, (at, answer) in doubt.answers.items()
            if answer.stance is Stance.READY
            and answer.attempt == state.attempt
            and now - at <= FRESH_S
        }

    # --- documents

    def may_forget(self, participant: Participant) -> bool:
        """Whether a document without the action's order may end it for good. Call it once per
        answer of the control plane that has no such order."""
        state = participant.state
        if state.phase is Phase.SWITCHED and state.by_hand:
            # The control plane does not know it yet.
            return False
        if not state.unheard:
            return True
        absences = self._absences[state.action] = self._absences.get(state.action, 0) + 1
        return absences >= ABSENCES

    def forget(self, participant: Participant) -> None:
        """The action is over for good; for a while, a late question about it is known as one."""
        state = participant.state
        self._doubts.pop(state.action, None)
        self._absences.pop(state.action, None)
        # Nobody waits any more for an action in which everybody has switched.
        switched = state.phase is Phase.SWITCHED
        self._ended[state.action] = Stance.UNSURE if switched else Stance.RELEASED
        while len(self._ended) > ENDED_MOST:
            del self._ended[next(iter(self._ended))]


def _stage(participant: Participant) -> tuple[int, Phase]:
    return participant.state.attempt, participant.state.phase


def _why(question: Question) -> str:
    return f"{question.asker} asked for the outcome before this broker had voted"


def _end(
    participant: Participant,
    phase: OrderPhase,
    here: Here,
    by_hand: str,
    interests: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Effect]:
    """Carry out the outcome as if the control plane had ordered it."""
    state = participant.state
    order = Order(
        action=state.action,
        attempt=state.attempt,
        kind=state.kind,
        phase=phase,
        role=state.role,
        peers=dict(state.peers),
        interests=dict(interests or {}),
    )
    participant.state = replace(state, by_hand=by_hand)
    effects = participant.on_order(order, here)
    # What a person decided nobody repeats, so it is on the disk before anything follows from it.
    return sorted(effects, key=lambda e: not isinstance(e, Persist)) if by_hand else effects
