"""View an action as the coordinator does, as far as its own row says."""

from apps.executions.models import ExecutionAction
from weir import actions as kinds
from weir.coordination.views import ActionView, Protocol
from weir.lifecycle.steps import ActionState


def action_view(row: ExecutionAction) -> ActionView:
    """Return the action without what agents have reported and observed."""
    action = row.action
    protocol = Protocol(kinds.protocol(action))
    return ActionView(
        id=str(row.public_id),
        protocol=protocol,
        kind=row.kind,
        state=ActionState(row.state),
        participants=dict(kinds.roles(action)) if protocol is Protocol.TREE else {},
        attempt=row.attempt,
        deadline=None if row.deadline_at is None else row.deadline_at.timestamp(),
        interests={role: tuple(flows) for role, flows in row.interests.items()},
        final=kinds.is_final(action),
        title=kinds.title(action),
        detail=row.detail,
        by_hand=row.by_hand,
    )
