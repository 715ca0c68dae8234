"""Let a person decide the outcome of an attempt when no agent knows it (`weir-agent decide`).

Without an action it lists the attempts that wait at this agent. The decision goes to the running
agent by a file in its state directory; the agents of the action's other brokers learn it by asking
this one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.outcomes import DECIDE, DECIDED, duration, write
from weir.coordination.termination import BOUND, Outcome

ANSWER_S = 15.0
LEAST_REASON = 5

RISKS: Mapping[Outcome, str] = {
    Outcome.COMMIT: (
        "The overlay is changed here and at the peers that ask this agent. If the control plane "
        "has called this attempt off, brokers that heard it go on by the old links: messages are "
        "lost or come twice until its page says how the action ended."
    ),
    Outcome.ABORT: (
        "The overlay stays as it was here and at the peers that ask this agent. If the control "
        "plane has committed this attempt, brokers that heard it have switched: messages are lost "
        "or come twice until its page says how the action ended."
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `decide`."""
    parser.add_argument(
        "--state-dir", required=True, type=Path, help="state directory of the running agent"
    )
    parser.add_argument(
        "--action", help="id of the action; without it the command lists the actions that wait"
    )
    parser.add_argument("--outcome", choices=[o.value for o in Outcome])
    parser.add_argument("--reason", default="", help="reason, kept for the audit")
    parser.add_argument("--yes", action="store_true", help="confirm that you accept the risk")


def run(options: argparse.Namespace) -> int:
    """Run the command; return 0 when it is done, 1 when the agent refused or did not answer, 2 for
    wrong options."""
    directory: Path = options.state_dir
    try:
        waiting = _waiting(directory)
    except (OSError, ValueError) as error:
        print(
            f"agent: {directory} is not the state directory of an agent: {error}", file=sys.stderr
        )
        return 2
    if not options.action:
        return _list(waiting)
    problem = _problem(options, waiting)
    if problem:
        print(f"agent: {problem}", file=sys.stderr)
        return 2
    outcome = Outcome(options.outcome)
    if not options.yes:
        print(f"{RISKS[outcome]}\nNothing was done. Repeat the command with --yes to do it.")
        return 1
    return _hand_over(directory, options.action, outcome, options.reason.strip())


def _waiting(directory: Path) -> list[dict[str, Any]]:
    plain = json.loads((directory / "state.json").read_text())
    return [p for p in plain.get("participants", ()) if p.get("phase") in BOUND]


def _list(waiting: list[dict[str, Any]]) -> int:
    for state in waiting:
        peers = ", ".join(f"{role} = {broker}" for role, broker in sorted(state["peers"].items()))
        since = state.get("paused_at")
        paused = "" if since is None else f", paused for {duration(time.time() - since)}"
        print(f"{state['action']}  attempt {state['attempt']} of {state['kind']} ({peers}){paused}")
    if not waiting:
        print("No action waits for an outcome at this agent.")
    return 0


def _problem(options: argparse.Namespace, waiting: list[dict[str, Any]]) -> str:
    if options.outcome is None:
        return "--outcome is missing: commit or abort"
    if len(options.reason.strip()) < LEAST_REASON:
        return "--reason is missing: give a reason for the audit"
    if options.action not in {state["action"] for state in waiting}:
        return (
            f"action {options.action} does not wait for an outcome at this agent; omit --action "
            "to list those that do"
        )
    return ""


def _hand_over(directory: Path, action: str, outcome: Outcome, reason: str) -> int:
    request_id = str(uuid.uuid4())
    decision = {"id": request_id, "action": action, "outcome": outcome.value, "reason": reason}
    try:
        write(directory / DECIDE, decision)
    except OSError as error:
        print(f"agent: {directory}: {error}", file=sys.stderr)
        return 1
    try:
        end = time.monotonic() + ANSWER_S
        while time.monotonic() < end:
            try:
                answer = json.loads((directory / DECIDED).read_text())
            except (OSError, ValueError):
                answer = {}
            if answer.get("id") == request_id:
                print(f"agent: {answer['error']}" if answer["error"] else f"{action}: {outcome}")
                return 1 if answer["error"] else 0
            time.sleep(0.1)
    finally:
        # An agent that starts later must not find it: the situation may be different then.
        (directory / DECIDE).unlink(missing_ok=True)
    print(f"agent: no running agent uses {directory}; start it and try again", file=sys.stderr)
    return 1
