"""Exchange the outcomes of actions with other agents, and take a person's decision.

`weir.coordination.termination` decides what to ask, to answer and to follow, without input or
output. This module holds the messages between the agents, and the two files by which `weir-agent
decide` reaches the running agent: it writes `decide.json` to the state directory, and the agent
answers with `decided.json`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from agent.drivers.base import Driver, DriverError
from weir.coordination.effects import AskPeer
from weir.coordination.termination import (
    Answer,
    Outcome,
    Question,
    Wait,
    answer_from_dict,
    answer_to_dict,
    question_from_dict,
    question_to_dict,
)
from weir.errors import InvalidProblem

log = logging.getLogger("weir.agent")

DECIDE, DECIDED = "decide.json", "decided.json"
_LOOK_S = 0.5
_RETRY_S = 0.5


class Participants(Protocol):
    """Receive questions, answers and decisions; `agent.shift.Shifts` implements this protocol."""

    async def on_question(self, question: Question) -> Answer | None:
        """Return the answer once it is stored on disk, or None when it cannot be stored now."""
        ...

    async def on_answer(self, answer: Answer) -> None:
        """Take the answer of another agent."""
        ...

    async def decide(self, action: str, outcome: Outcome, reason: str) -> None:
        """Take a person's decision. Raises InvalidProblem when it is not possible."""
        ...


class OutcomeExchange:
    """Ask and answer the questions of one agent. Run `listen` and `look` concurrently."""

    def __init__(
        self,
        driver: Driver,
        participants: Participants,
        beside: Callable[[Any], object],
        directory: Path,
    ) -> None:
        """Take `beside`, which starts a coroutine as a task, and the `directory` of decision
        files."""
        self._driver = driver
        self._participants = participants
        self._beside = beside
        self._directory = directory
        self._asking: set[str] = set()

    def ask(self, effect: AskPeer) -> None:
        """Ask in the background, one question at a time per neighbour; the next tick asks again."""
        if effect.broker not in self._asking:
            self._asking.add(effect.broker)
            self._beside(self._ask(effect.broker, effect.question))

    async def _ask(self, broker: str, question: Question) -> None:
        try:
            payload = json.dumps(question_to_dict(question)).encode()
            answer = answer_from_dict(json.loads(await self._driver.ask(broker, payload)))
            log.info(
                "%s says of attempt %d of %s: %s",
                broker,
                answer.attempt,
                answer.action,
                answer.stance,
            )
            await self._participants.on_answer(answer)
        except (DriverError, InvalidProblem, ValueError, RecursionError) as error:
            log.info("the agent of %s gave no answer: %s", broker, error)
        finally:
            self._asking.discard(broker)

    async def listen(self) -> None:
        """Answer the questions of other agents until cancelled."""
        while True:
            try:
                async for inquiry in self._driver.inquiries():
                    answer = await self._answer(inquiry.neighbour, inquiry.payload)
                    if answer is not None:
                        await self._driver.answer(inquiry, answer)
            except DriverError as error:
                log.info("cannot receive questions of other agents: %s", error)
            await asyncio.sleep(_RETRY_S)

    async def _answer(self, neighbour: str, payload: bytes) -> bytes | None:
        try:
            question = question_from_dict(json.loads(payload))
            if question.asker != neighbour:
                raise InvalidProblem("asker", f"the agent of {neighbour} asks as {question.asker}")
            answer = await self._participants.on_question(question)
        except (InvalidProblem, ValueError, RecursionError) as error:
            log.warning("ignored an unreadable question (%s): %r", error, payload[:80])
            return None
        return None if answer is None else json.dumps(answer_to_dict(answer)).encode()

    async def look(self) -> None:
        """Watch for decisions that a person makes on this machine, until cancelled."""
        path = self._directory / DECIDE
        while True:
            await asyncio.sleep(_LOOK_S)
            if path.exists():
                try:
                    answer = await carry_out_decision(path, self._participants.decide)
                    write(self._directory / DECIDED, answer)
                except OSError as error:
                    log.error("cannot read or answer a decision: %s", error)


async def carry_out_decision(
    path: Path, decide: Callable[[str, Outcome, str], Awaitable[None]]
) -> dict[str, str]:
    """Carry out the decision in the file and remove the file; return the answer."""
    try:
        plain = json.loads(path.read_text())
        request_id = str(plain["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        path.unlink(missing_ok=True)
        return {"id": "", "error": f"not a decision: {error!r}"}
    try:
        action, reason = str(plain["action"]), str(plain["reason"])
        outcome = Outcome(plain["outcome"])
        await decide(action, outcome, reason)
    except (InvalidProblem, KeyError, ValueError) as error:
        return {"id": request_id, "error": str(error)}
    else:
        log.warning("a person decided %s for action %s: %s", outcome, action, reason)
        return {"id": request_id, "error": ""}
    finally:
        path.unlink(missing_ok=True)


def write(path: Path, plain: dict[str, str]) -> None:
    """Replace the file as a whole, readable by the owner only. Raises OSError."""
    new = path.with_name(path.name + ".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps(plain))
    new.replace(path)


def sentence(wait: Wait, now: float) -> str:
    """Say which agents wait for which, and what a person can do."""
    waited = duration(now - wait.since)
    if not wait.silent and not wait.voted:
        # Who removes a broker as its only neighbour has no peer to ask.
        others = "only the control plane knows the outcome"
        help_ = "Bring it back"
    elif not wait.silent:
        others = (
            f"the agents of {_list(wait.voted)} wait too, and none of them knows the outcome; "
            "only the control plane knows it"
        )
        help_ = "Bring it back"
    else:
        others = f"the agent of {_list(wait.silent)} does not answer"
        if wait.voted:
            others += f", and that of {_list(wait.voted)} does not know the outcome either"
        help_ = f"Bring it or the agent of {wait.silent[0]} back"
    return (
        f"paused for {waited} in attempt {wait.attempt} of action {wait.action}: {others}. "
        f"{help_}, or decide by hand: weir-agent decide --action {wait.action}"
    )


def duration(seconds: float) -> str:
    """Return a duration in the unit that a person would use."""
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
