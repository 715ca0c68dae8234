"""Read a plan's own history: what happened to the plan, and what was asked of its execution.

Executions stand a storey below and know no history of a plan; the audit keeps their commands.
"""

from dataclasses import dataclass
from datetime import datetime

from apps.executions.selectors import commands_given
from apps.plans.models import Plan, PlanEvent

TITLES = {
    "pause": "paused it",
    "resume": "resumed it",
    "stop": "stopped it",
    "roll_back": "rolled it back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Describe a command that somebody, or Weir for a window, gave the plan's execution."""

    at: datetime
    actor_name: str
    command: str
    title: str
    note: str


def history(plan: Plan) -> list[PlanEvent | Asked]:
    """List what happened to the plan, oldest first."""
    events: list[PlanEvent | Asked] = list(plan.events.all())
    if plan.execution is not None:
        events += [
            Asked(
                at=entry.at,
                actor_name=entry.actor_name,
                command=entry.action,
                title=TITLES[entry.action],
                note=entry.reason,
            )
            for entry in commands_given(plan.execution)
        ]
    return sorted(events, key=lambda event: event.at)
