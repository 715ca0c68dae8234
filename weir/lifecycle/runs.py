"""The life of a run: which command leads from which state to which.

    queued --start--> running --succeed---------> succeeded
      |  ^               | |---find_infeasible--> infeasible
      |  '----retry------' |---fail-------------> failed
      |                    '---cancel-----------> cancelled
      |--cancel--> cancelled
      '--fail----> failed        (it could not be started at all)

`retry` puts a run whose worker died back into the queue. The four last states are final.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from weir.errors import IllegalTransition

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunState(StrEnum):
    """Name the states of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunCommand(StrEnum):
    """What may happen to a run."""

    START = "start"
    SUCCEED = "succeed"
    FIND_INFEASIBLE = "find_infeasible"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"


class PersonCommand(StrEnum):
    """What a person may ask of a run. `rerun` opens a new run on the same snapshot."""

    CANCEL = "cancel"
    RERUN = "rerun"


TRANSITIONS: Mapping[RunState, Mapping[RunCommand, RunState]] = MappingProxyType(
    {
        RunState.QUEUED: MappingProxyType(
            {
                RunCommand.START: RunState.RUNNING,
                RunCommand.FAIL: RunState.FAILED,
                RunCommand.CANCEL: RunState.CANCELLED,
            }
        ),
        RunState.RUNNING: MappingProxyType(
            {
                RunCommand.SUCCEED: RunState.SUCCEEDED,
                RunCommand.FIND_INFEASIBLE: RunState.INFEASIBLE,
                RunCommand.FAIL: RunState.FAILED,
                RunCommand.CANCEL: RunState.CANCELLED,
                RunCommand.RETRY: RunState.QUEUED,
            }
        ),
        RunState.SUCCEEDED: MappingProxyType({}),
        RunState.INFEASIBLE: MappingProxyType({}),
        RunState.FAILED: MappingProxyType({}),
        RunState.CANCELLED: MappingProxyType({}),
    }
)

ENDED = frozenset(state for state, commands in TRANSITIONS.items() if not commands)
"""States that nothing leaves."""


def advance(state: RunState, command: RunCommand) -> RunState:
    """The state that follows; IllegalTransition where the table has none."""
    state, command = RunState(state), RunCommand(command)
    try:
        return TRANSITIONS[state][command]
    except KeyError:
        allowed = ", ".join(TRANSITIONS[state]) or "nothing, it has ended"
        raise IllegalTransition(
            f"a {state} run cannot {command.replace('_', ' ')}; allowed: {allowed}"
        ) from None


def allowed_commands(state: RunState) -> tuple[PersonCommand, ...]:
    """What a person may ask of a run in this state."""
    if RunState(state) in ENDED:
        return (PersonCommand.RERUN,)
    return (PersonCommand.CANCEL,)
