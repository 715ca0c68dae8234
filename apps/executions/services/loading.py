"""Load an execution for the coordinator: plain data, read under the execution's lock."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import F, Q

from apps.executions.models import (
    UNDER_WAY_NAMES,
    ActionReport,
    Execution,
    ExecutionAction,
    ExecutionStep,
    Setting,
)
from apps.executions.selectors.flow_map import MAP_KINDS, Following
from apps.executions.services.adapted_parts import why_not_grown
from apps.executions.services.documents import action_view
from apps.executions.services.settings import asks_of, failure, shows
from apps.telemetry.selectors import agents_of, removed_brokers
from weir import actions as kinds
from weir.actions.adapt_parts import KIND as ORDER
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.set_bucket import KIND as BUCKET
from weir.coordination.views import ActionView, Direction, ExecutionView, Protocol, StepView
from weir.coordination.wire import Observed, Report, ReportPhase, observed_from_dict
from weir.lifecycle.executions import ExecutionState
from weir.lifecycle.steps import ActionState, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Hold the rows of one execution by the ids that the coordinator uses, and its view."""

    execution: Execution
    steps: Mapping[str, ExecutionStep]
    actions: Mapping[str, ExecutionAction]
    reports: Mapping[str, Mapping[str, tuple[Report, ...]]]
    """Action -> broker -> what it said of the running attempt."""
    following: Following
    view: ExecutionView

    def view_of(self, action: str) -> ActionView:
        """Return the action as it was loaded."""
        return next(a for step in self.view.steps for a in step.actions if a.id == action)


def load(execution: Execution, now: datetime) -> Loaded:
    """Read everything that bears on what follows; five queries, and one more each while a broker
    gets its first list of publishers, or a part of a bucket is asked for."""
    steps = list(ExecutionStep.objects.filter(execution=execution).order_by("index"))
    actions: dict[int, list[ExecutionAction]] = {step.pk: [] for step in steps}
    for row in ExecutionAction.objects.filter(step__execution=execution).order_by("index"):
        actions[row.step_id].append(row)
    agents = {
        row["broker__name"]: row
        for row in agents_of(execution.system).values("broker__name", "lease_until", "observed")
    }
    # Read once: what an agent observes may hold thousands of entries.
    seen: dict[str, Observed] = {
        name: observed_from_dict(row["observed"])
        for name, row in agents.items()
        if row["observed"] is not None
    }
    live = frozenset(
        name for name, a in agents.items() if a["lease_until"] and a["lease_until"] > now
    )
    following = Following(seen=seen, live=live)
    lists = _lists(execution, [row for rows in actions.values() for row in rows])
    waits = _waits(execution, [row for rows in actions.values() for row in rows])
    reports = _reports(execution)
    names = {row.pk: str(row.public_id) for rows in actions.values() for row in rows}
    return Loaded(
        execution=execution,
        steps={str(step.pk): step for step in steps},
        actions={names[row.pk]: row for rows in actions.values() for row in rows},
        reports={names[pk]: by_broker for pk, by_broker in reports.items()},
        following=following,
        view=ExecutionView(
            state=ExecutionState(execution.state),
            live=live,
            removed=removed_brokers(execution.system),
            pace_s=execution.pace_s,
            roll_back_pace_s=execution.roll_back_pace_s,
            max_parallel=execution.max_parallel,
            steps=tuple(
                StepView(
                    id=str(step.pk),
                    index=step.index,
                    state=StepState(step.state),
                    direction=Direction(step.direction),
                    ended_at=_seconds(step.ended_at),
                    actions=tuple(
                        _move(row, names, following)
                        if row.kind in MAP_KINDS
                        else _action(
                            row, reports.get(row.pk, {}), names, agents, seen, lists, waits
                        )
                        for row in actions[step.pk]
                    ),
                )
                for step in steps
            ),
        ),
    )


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def _reports(execution: Execution) -> dict[int, dict[str, tuple[Report, ...]]]:
    """Return what each broker said of the running attempt of each action, and that it has
    switched."""
    found: dict[int, dict[str, tuple[Report, ...]]] = {}
    running = Q(attempt=F("action__attempt"))
    # A switch is true whatever attempt the database believes to be running.
    rows = ActionReport.objects.filter(
        running | Q(phase=ReportPhase.SWITCHED), action__step__execution=execution
    ).order_by("id")
    for row in rows:
        report = Report(
            action=str(row.action_id),
            attempt=row.attempt,
            phase=ReportPhase(row.phase),
            interest=tuple(row.interest),
            pause_s=row.pause_s,
            detail=row.detail,
            interests={role: tuple(flows) for role, flows in row.interests.items()},
            by_hand=row.by_hand,
        )
        by_broker = found.setdefault(row.action_id, {})
        by_broker[row.broker] = (*by_broker.get(row.broker, ()), report)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lists:
    """What other brokers' lists of publishers mean for actions that begin or end one."""

    others: Mapping[int, frozenset[str]]
    """Action that gives a broker its first list -> the brokers with lists of the flow: all that
    these have let publishers send before has to pass the new one, too, before anybody goes on
    there."""
    ends_among_others: frozenset[int]
    """Actions that end a list while other brokers keep theirs: the agent has to show that it lets
    nobody in. It shows nothing before whom it let in has left."""


def _lists(execution: Execution, rows: Iterable[ExecutionAction]) -> _Lists:
    """Read the lists that actions under way depend on; no query where there are none."""
    running = [row for row in rows if row.kind == PUBLISHERS and row.state in UNDER_WAY_NAMES]
    first = [row for row in running if row.state == ActionState.PREPARING and row.before is None]
    ending = [
        row
        for row in running
        if (row.before if row.state == ActionState.ABORTING else row.after) is None
    ]
    if not first and not ending:
        return _Lists(others={}, ends_among_others=frozenset())
    by_flow: dict[str, set[str]] = {}
    asked_for: dict[str, set[str]] = {}
    lists = Setting.objects.filter(
        Q(in_force__isnull=False) | Q(desired__isnull=False),
        system=execution.system,
        kind=PUBLISHERS,
    )
    for target, desired in lists.values_list("target", "desired"):
        by_flow.setdefault(target["flow"], set()).add(target["broker"])
        if desired is not None:
            asked_for.setdefault(target["flow"], set()).add(target["broker"])
    return _Lists(
        others={row.pk: frozenset(by_flow.get(row.target["flow"], ())) for row in first},
        ends_among_others=frozenset(
            row.pk for row in ending if asked_for.get(row.target["flow"], set())
        ),
    )


def _waits(execution: Execution, rows: Iterable[ExecutionAction]) -> dict[int, str]:
    """Say for whom parts of buckets wait that moved beside plans; no query where none is asked."""
    asking = [row for row in rows if row.kind == BUCKET and row.state == ActionState.PREPARING]
    if not asking:
        return {}
    parts: dict[str, list[Setting]] = {}
    flows = {row.target["flow"] for row in asking}
    settings = Setting.objects.filter(system=execution.system, kind=BUCKET)
    for row in settings.filter(target__flow__in=flows):
        parts.setdefault(row.target["flow"], []).append(row)
    return {
        row.pk: why_not_grown(part, parts[row.target["flow"]])
        for row in asking
        for part in parts.get(row.target["flow"], ())
        if part.target["broker"] == row.target["broker"]
    }


def _move(row: ExecutionAction, names: Mapping[int, str], following: Following) -> ActionView:
    """Return a move of the map, which nobody confirms before it is committed."""
    follows, lags = following.follows(row), following.lags(row)
    return replace(
        action_view(row),
        follows=follows,
        followed_by=(follows or frozenset()) - lags.keys(),
        failures=lags,
        inverts=None if row.inverts_id is None else names[row.inverts_id],
    )


def _action(
    row: ExecutionAction,
    reports: Mapping[str, tuple[Report, ...]],
    names: Mapping[int, str],
    agents: Collection[str],
    seen: Mapping[str, Observed],
    lists: _Lists,
    waits: Mapping[int, str],
) -> ActionView:
    view = action_view(row)
    awaited: frozenset[str] = frozenset()
    wanted = row.before if row.state == ActionState.ABORTING else row.after
    if view.protocol is Protocol.SETTING:
        # Where no agent is enrolled (any more), nobody has to say that nothing is enforced there.
        # An order asks nothing of a broker that leaves it: a silent one must not keep it in force.
        awaited = frozenset(
            broker
            for broker in kinds.brokers(row.action)
            if asks_of(row.action, wanted, broker) or (broker in agents and row.kind != ORDER)
        )
        awaited |= lists.others.get(row.pk, frozenset()) & set(agents)
    # What an agent saw by an older document proves nothing, whenever it arrives: meanwhile it may
    # have been told otherwise. Of several observations the row holds the newest (`agent_report`).
    observations = {
        broker: seen[broker]
        for broker in awaited & seen.keys()
        if row.asked_number is not None and seen[broker].number >= row.asked_number
    }
    return replace(
        view,
        awaited=awaited,
        confirmed_by=frozenset(
            b
            for b, o in observations.items()
            if shows(o, row.action, wanted, b)
            and (row.pk not in lists.ends_among_others or row.target["flow"] in o.publishers)
        ),
        failures={b: why for b, o in observations.items() if (why := failure(o, row.action))},
        waits=waits.get(row.pk, ""),
        reports=reports,
        inverts=None if row.inverts_id is None else names[row.inverts_id],
    )
