"""`weir-agent decide`, with an agent that takes the decision and without one."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from agent import decide as command
from agent.__main__ import main
from agent.outcomes import DECIDE, DECIDED, carry_out_decision, sentence, write
from agent.store import Store
from weir.coordination.participant import ParticipantState, Phase
from weir.coordination.termination import Outcome, Wait
from weir.errors import InvalidProblem


def _state(action: str, phase: Phase) -> ParticipantState:
    return ParticipantState(
        action=action,
        attempt=2,
        kind="shift_link",
        role="j",
        peers={"i": "rot", "j": "ham", "k": "lux"},
        phase=phase,
        paused_at=0.0,
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Of an agent that waits for one outcome and has ended another action."""
    store = Store(tmp_path / "state")

    async def promise() -> None:
        await store.persist(_state("a-1", Phase.READY))
        await store.persist(_state("a-2", Phase.SWITCHED))

    asyncio.run(promise())
    store.close()
    return tmp_path / "state"


def _decide(directory: Path, *more: str) -> int:
    return main(["decide", "--state-dir", str(directory), *more])


COMMIT = ("--action", "a-1", "--outcome", "commit", "--reason", "Weir is gone", "--yes")


def test_lists_what_waits_and_for_whom(directory: Path, capsys) -> None:
    assert _decide(directory) == 0
    said = capsys.readouterr().out
    assert "a-1  attempt 2 of shift_link (i = rot, j = ham, k = lux), paused for" in said
    assert "a-2" not in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--action", "a-1", "--reason", "Weir is gone"), "--outcome is missing"),
        (("--action", "a-1", "--outcome", "abort"), "--reason is missing"),
        (("--action", "a-2", "--outcome", "abort", "--reason", "Weir is gone"), "does not wait"),
    ],
)
def test_says_what_is_missing(directory: Path, capsys, options, says) -> None:
    assert _decide(directory, *options) == 2
    assert says in capsys.readouterr().err
    assert not (directory / DECIDE).exists()


def test_refuses_what_is_no_state_directory(tmp_path: Path, capsys) -> None:
    assert _decide(tmp_path) == 2
    assert "not the state directory" in capsys.readouterr().err


def test_names_the_risk_and_does_nothing_without_yes(directory: Path, capsys) -> None:
    assert _decide(directory, *COMMIT[:-1]) == 1
    assert "lost or come twice" in capsys.readouterr().out
    assert not (directory / DECIDE).exists()


def test_leaves_nothing_behind_where_no_agent_runs(directory: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(command, "ANSWER_S", 0.3)
    assert _decide(directory, *COMMIT) == 1
    assert "no running agent uses" in capsys.readouterr().err
    assert not (directory / DECIDE).exists()


@pytest.mark.parametrize(("refused", "code"), [("", 0), ("a peer does not answer", 1)])
def test_says_what_the_agent_answers(directory: Path, capsys, refused: str, code: int) -> None:
    decided = []

    async def decide(action: str, outcome: Outcome, reason: str) -> None:
        decided.append((action, outcome, reason))
        if refused:
            raise InvalidProblem("outcome", refused)

    def agent() -> None:
        while not (directory / DECIDE).exists():
            pass
        write(directory / DECIDED, asyncio.run(carry_out_decision(directory / DECIDE, decide)))

    thread = threading.Thread(target=agent, daemon=True)
    thread.start()
    assert _decide(directory, *COMMIT) == code
    thread.join(10)
    assert decided == [("a-1", Outcome.COMMIT, "Weir is gone")]
    assert (refused or "a-1: commit") in capsys.readouterr().out
    assert not (directory / DECIDE).exists()


async def _nobody(action: str, outcome: Outcome, reason: str) -> None:
    raise AssertionError


@pytest.mark.parametrize("text", ["", "[]", "{", '{"id": "1"}', '{"id": "1", "outcome": "x"}'])
def test_a_file_that_is_no_decision_is_answered_and_removed(tmp_path: Path, text: str) -> None:
    (tmp_path / DECIDE).write_text(text)
    said = asyncio.run(carry_out_decision(tmp_path / DECIDE, _nobody))
    assert said["error"]
    assert json.dumps(said)
    assert not (tmp_path / DECIDE).exists()


def test_the_only_neighbour_of_a_removed_broker_says_what_it_waits_for() -> None:
    wait = Wait(action="a-1", attempt=1, kind="remove_broker", since=0.0, voted=(), silent=())
    said = sentence(wait, 30.0)
    assert "only the control plane knows the outcome" in said
    assert "weir-agent decide --action a-1" in said
