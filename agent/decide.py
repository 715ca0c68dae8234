"""`weir-agent decide`: a person ends an attempt whose outcome no agent knows.

Without an action it lists what waits at this agent. The decision goes to the running agent by a
file in its state directory; the agents of the action's other brokers follow by asking this one.
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

from agent.doubts import DECIDE, DECIDED, duration, write
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
    """The options of `decide`."""
    parser.add_argument("--state-dir", required=True, type=Path, help="of the running agent")
    parser.add_argument("--action", help="id of the action; without it, what waits is listed")
    parser.add_argument("--outcome", choices=[o.value for o in Outcome])
    parser.add_argument("--reason", default="", help="why, for the audit")
    parser.add_argument("--yes", action="store_true", help="the risk is known")


def run(options: argparse.Namespace) -> int:
    """Carry the command out. 0: done; 1: the agent refused or did not answer; 2: wrong options."""
    directory: Path = options.state_dir
    try:
        waiting = _waiting(directory)
    except (OSError, ValueError) as error:
        print(f"agent: {directory} is no state directory of an agent: {error}", file=sys.stderr)
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
        print("Nothing waits for an outcome at this agent.")
    return 0


def _problem(options: argparse.Namespace, waiting: list[dict[str, Any]]) -> str:
    if options.outcome is None:
        return "--outcome is missing: commit or abort"
    if len(options.reason.strip()) < LEAST_REASON:
        return "--reason is missing: say why, the audit keeps it"
    if options.action not in {state["action"] for state in waiting}:
        return (
            f"action {options.action} does not wait for an outcome at this agent; leave --action "
            "out to see what does"
        )
    return ""


def _hand_over(directory: Path, action: str, outcome: Outcome, reason: str) -> int:
    asked = str(uuid.uuid4())
    decision = {"id": asked, "action": action, "outcome": outcome.value, "reason": reason}
    try:
        write(directory / DECIDE, decision)
    except OSError as error:
        print(f"agent: {directory}: {error}", file=sys.stderr)
        return 1
    try:
        end = time.monotonic() + ANSWER_S
        while time.monotonic() < end:
            try:
                said = json.loads((directory / DECIDED).read_text())
            except (OSError, ValueError):
                said = {}
            if said.get("id") == asked:
                print(f"agent: {said['error']}" if said["error"] else f"{action}: {outcome}")
                return 1 if said["error"] else 0
            time.sleep(0.1)
    finally:
        # Nobody shall find it later, when everything may be different.
        (directory / DECIDE).unlink(missing_ok=True)
    print(f"agent: no agent runs with {directory}; start it and try again", file=sys.stderr)
    return 1
