"""Choose the completed actions that a rollback inverts, and their order."""

from __future__ import annotations

from weir.coordination.views import Direction, ExecutionView
from weir.lifecycle.steps import ActionState

IN_FORCE = frozenset({ActionState.COMMITTED, ActionState.DONE, ActionState.DEAD})
"""From the commit on an action's effect is a fact, whether or not every agent has caught up."""


def roll_back_steps(view: ExecutionView) -> tuple[tuple[str, ...], ...]:
    """The actions to invert: one entry per undo step, the last step first.

    What an earlier rollback has taken back already is left out; steps that never had an effect
    give no entry, nor does what has no inverse. Inside a step the order is turned round too.
    """
    taken_back = {
        action.inverts
        for step in view.steps
        if step.direction is Direction.UNDO
        for action in step.actions
        if action.state in IN_FORCE
    }
    undo = []
    for step in reversed(view.steps):
        if step.direction is Direction.FORWARD:
            actions = tuple(
                action.id
                for action in reversed(step.actions)
                if action.state in IN_FORCE and action.id not in taken_back and not action.final
            )
            if actions:
                undo.append(actions)
    return tuple(undo)
