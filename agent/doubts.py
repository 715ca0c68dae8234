"""Agents ask each other for the outcome of an action, and take a person's decision for it.

What is asked, answered and followed is decided by `weir.coordination.termination`, which is pure;
here are the messages between the agents, and the two files by which `weir-agent decide` reaches the
running agent: `decide.json` in the state directory, answered by `decided.json`.
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
from weir.coordination.questions import (
    Answer,
    Question,
    answer_from_dict,
    answer_to_dict,
    question_from_dict,
    question_to_dict,
)
from weir.coordination.termination import Outcome, Wait
from weir.errors import InvalidProblem

log = logging.getLogger("weir.agent")

DECIDE, DECIDED = "decide.json", "decided.json"
_LOOK_S = 0.5
_RETRY_S = 0.5


class Participants(Protocol):
    """What questions, answers and decisions are about; see `agent.shift.Shifts`."""

    async def on_question(self, question: Question) -> Answer | None:
        """The answer, once what it says is on the disk; None: it cannot be written now."""
        ...

    async def on_answer(self, answer: Answer) -> None:
        """What a peer has said."""
        ...

    async def decide(self, action: str, outcome: Outcome, reason: str) -> None:
        """A person's decision. Raises InvalidProblem when it cannot be carried out."""
        ...


class Doubts:
    """The messages of one agent. Run `listen` and `look` beside everything else."""

    def __init__(
        self,
        driver: Driver,
        participants: Participants,
        beside: Callable[[Any], object],
        directory: Path,
    ) -> None:
        """`beside` starts a coroutine as a task. `directory`: where a person's decision is put."""
        self._driver = driver
        self._participants = participants
        self._beside = beside
        self._directory = directory
        self._asking: set[str] = set()

    def ask(self, effect: AskPeer) -> None:
        """Ask in the background, one question at a time to each peer; `tick` asks again."""
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
        """Answer what is asked, for ever."""
        while True:
            try:
                async for inquiry in self._driver.inquiries():
                    answer = await self._answer(inquiry.neighbour, inquiry.payload)
                    if answer is not None:
                        await self._driver.answer(inquiry, answer)
            except DriverError as error:
                log.info("questions of other agents: %s", error)
            await asyncio.sleep(_RETRY_S)

    async def _answer(self, neighbour: str, payload: bytes) -> bytes | None:
        try:
            question = question_from_dict(json.loads(payload))
            if question.asker != neighbour:
                raise InvalidProblem("asker", f"{neighbour} asks in the name of {question.asker}")
            answer = await self._participants.on_question(question)
        except (InvalidProblem, ValueError, RecursionError) as error:
            log.warning("a question that is none (%s): %r", error, payload[:80])
            return None
        return None if answer is None else json.dumps(answer_to_dict(answer)).encode()

    async def look(self) -> None:
        """Take what a person decided at this machine, for ever."""
        path = self._directory / DECIDE
        while True:
            await asyncio.sleep(_LOOK_S)
            if path.exists():
                try:
                    said = await taken(path, self._participants.decide)
                    write(self._directory / DECIDED, said)
                except OSError as error:
                    log.error("a decision at this machine: %s", error)


async def taken(
    path: Path, decide: Callable[[str, Outcome, str], Awaitable[None]]
) -> dict[str, str]:
    """Carry out the decision in the file, which is then gone; what to answer."""
    try:
        plain = json.loads(path.read_text())
        asked = str(plain["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        path.unlink(missing_ok=True)
        return {"id": "", "error": f"not a decision: {error!r}"}
    try:
        action, reason = str(plain["action"]), str(plain["reason"])
        outcome = Outcome(plain["outcome"])
        await decide(action, outcome, reason)
    except (InvalidProblem, KeyError, ValueError) as error:
        return {"id": asked, "error": str(error)}
    else:
        log.warning("a person decided %s for action %s: %s", outcome, action, reason)
        return {"id": asked, "error": ""}
    finally:
        path.unlink(missing_ok=True)


def write(path: Path, plain: dict[str, str]) -> None:
    """Whole or not at all, readable by the owner only. Raises OSError."""
    new = path.with_name(path.name + ".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps(plain))
    new.replace(path)


def sentence(wait: Wait, now: float) -> str:
    """Who waits for whom, and what a person can do."""
    waited = duration(now - wait.since)
    if not wait.silent:
        others = (
            f"{_list(wait.voted)} wait too, and none of them knows the outcome; "
            "only the control plane does"
        )
        help_ = "Bring it back"
    else:
        others = f"the agent of {_list(wait.silent)} does not answer"
        if wait.voted:
            others += f", {_list(wait.voted)} does not know the outcome either"
        help_ = f"Bring it or the agent of {wait.silent[0]} back"
    return (
        f"paused for {waited} in attempt {wait.attempt} of action {wait.action}: {others}. "
        f"{help_}, or decide by hand: weir-agent decide --action {wait.action}"
    )


def duration(seconds: float) -> str:
    """In the unit that a person would use."""
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
