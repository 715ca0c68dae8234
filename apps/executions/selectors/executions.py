"""Read executions and what is in force in a system."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from apps.audit.models import AuditEntry
from apps.executions.models import (
    ActionReport,
    Direction,
    Execution,
    ExecutionAction,
    ExecutionStep,
    Setting,
)
from apps.executions.selectors.flow_map import Following, changes_map, places_in_force
from apps.systems.models import System
from apps.telemetry.models import Agent, AgentState
from apps.telemetry.selectors import agents_of
from apps.topology.models import OverlayEdge
from weir.actions import InForce, absent, brokers, edge, protocol
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.coordination.coordinator import IN_FORCE
from weir.coordination.wire import Observed, ReportPhase, observed_from_dict
from weir.lifecycle.executions import PERSON_COMMANDS, ExecutionState
from weir.lifecycle.steps import ActionState
from weir.model.plan import Step, Value

ANSWERS: Mapping[str, frozenset[str]] = {
    ActionState.PREPARING: frozenset({ReportPhase.READY, ReportPhase.REFUSED}),
    ActionState.COMMITTED: frozenset({ReportPhase.SWITCHED}),
    ActionState.ABORTING: frozenset({ReportPhase.RELEASED, ReportPhase.REFUSED}),
}
"""State of a tree action -> what each participant has to say before it goes on."""

IN_FORCE_NAMES = sorted(state.value for state in IN_FORCE)
FEWEST_PAUSES, LATEST_PAUSES = 5, 50


def edges_in_force(system: System) -> frozenset[tuple[str, str]]:
    """Return the edges of the system's overlay in force, as pairs of broker names."""
    rows = OverlayEdge.objects.filter(overlay__system=system, overlay__in_force=True)
    return frozenset(edge(a, b) for a, b in rows.values_list("a__name", "b__name"))


def in_force(system: System, steps: Iterable[Step] = ()) -> InForce:
    """Return what is in force in a system: settings that are enforced, edges of the overlay, and
    the places in the map of what these steps move."""
    rows = Setting.objects.filter(system=system, in_force__isnull=False)
    return InForce(
        settings={
            **{(row.kind, row.target_key): row.in_force for row in rows},
            **places_in_force(system, steps),
        },
        edges=edges_in_force(system),
    )


def observed_of(agents: Iterable[Agent]) -> dict[str, Observed]:
    """Return what each agent says is really in force, by the name of its broker; without those that
    said nothing."""
    return {
        agent.broker.name: observed_from_dict(agent.observed)
        for agent in agents
        if agent.observed is not None
    }


def measured_pauses(system: System) -> tuple[float | None, int]:
    """Return how long a shift pauses its brokers: the median of the latest, seconds, and of how
    many.

    Nothing where fewer than `FEWEST_PAUSES` were measured: one shift on a busy machine says little.
    """
    pauses = list(
        ExecutionAction.objects.filter(
            step__execution__system=system, state=ActionState.DONE, pause_s__isnull=False
        )
        .order_by("-ended_at")
        .values_list("pause_s", flat=True)[:LATEST_PAUSES]
    )
    known = [pause_s for pause_s in pauses if pause_s is not None]
    return (median(known) if len(known) >= FEWEST_PAUSES else None), len(known)


def execution_count_by_state() -> dict[str, int]:
    """Return how many executions stand in each state, for metrics."""
    return dict(Execution.objects.values_list("state").annotate(n=Count("id")).order_by())


def executions_in_full() -> QuerySet[Execution]:
    """Return the executions with steps, actions and reports, in four queries however many."""
    actions = ExecutionAction.objects.order_by("index").prefetch_related(
        Prefetch("reports", ActionReport.objects.order_by("id"))
    )
    steps = ExecutionStep.objects.order_by("index").prefetch_related(Prefetch("actions", actions))
    return executions_counted().prefetch_related(Prefetch("steps", steps))


def executions_counted() -> QuerySet[Execution]:
    """Return the executions with the number of their actions, and of those that are done; those
    that take something back are counted apart.

    Counted by subqueries: a join would count the actions of all executions before a page is cut.
    """
    return Execution.objects.select_related("system", "started_by").annotate(
        actions_total=_count(Direction.FORWARD),
        actions_done=_count(Direction.FORWARD, state=ActionState.DONE),
        actions_to_undo=_count(Direction.UNDO),
        actions_undone=_count(Direction.UNDO, state=ActionState.DONE),
        is_overtaken=Exists(_later(OuterRef("system"), OuterRef("number"))),
    )


def overtaken_by(execution: Execution) -> Execution | None:
    """Return the newest later execution of which something is in force; None: this one was the
    last.

    What was approved since starts from what this one left, so it is no longer taken back alone.
    """
    return _later(execution.system_id, execution.number).order_by("-number").first()


def _later(system: Any, number: Any) -> QuerySet[Execution]:
    changing = ExecutionAction.objects.filter(
        step__execution=OuterRef("pk"), state__in=IN_FORCE_NAMES
    )
    return (
        Execution.objects.filter(system=system, number__gt=number)
        .exclude(state=ExecutionState.ROLLED_BACK)
        .filter(Exists(changing))
    )


def _count(direction: Direction, **those: Any) -> Coalesce:
    actions = ExecutionAction.objects.filter(
        step__execution=OuterRef("pk"), step__direction=direction, **those
    )
    counted = actions.order_by().values("step__execution").annotate(n=Count("id")).values("n")
    return Coalesce(Subquery(counted), 0)


def commands_given(execution: Execution) -> QuerySet[AuditEntry]:
    """Return the commands of people, and of Weir for a window, oldest first, with their reasons."""
    return AuditEntry.objects.filter(
        object_id=execution.public_id, action__in=[command.value for command in PERSON_COMMANDS]
    ).order_by("id")


def publishers_left_out(execution: Execution) -> dict[str, list[str]]:
    """Return, by flow, the publishers that lists of the execution name before or after, and that no
    list asked for names now, where the flow has lists."""
    rows = ExecutionAction.objects.filter(step__execution=execution, kind=PUBLISHERS)
    named: dict[str, set[str]] = {}
    for target, *values in rows.values_list("target", "before", "after"):
        for value in filter(None, values):
            named.setdefault(target["flow"], set()).update(value["publishers"])
    if not named:
        return {}
    listed: dict[str, set[str]] = {}
    lists = Setting.objects.filter(
        system=execution.system_id, kind=PUBLISHERS, desired__isnull=False
    )
    for target, value in lists.values_list("target", "desired"):
        listed.setdefault(target["flow"], set()).update(value["publishers"])
    return {
        flow: sorted(names - listed[flow])
        for flow, names in sorted(named.items())
        if flow in listed and names - listed[flow]
    }


def value_shown(value: Value | None) -> dict[str, Any] | None:
    """Return a setting's value as pages show it: a list of names, of which there may be thousands,
    as their number."""
    if value is None:
        return None
    return {
        name: len(member) if isinstance(member, list | tuple) else member
        for name, member in value.items()
    }


def following_of(system: System, now: datetime) -> Following:
    """Return what the system's agents show of moves of the map; one query."""
    agents = list(agents_of(system))
    return Following(
        seen=observed_of(agents),
        live=frozenset(a.broker.name for a in agents if a.state(now) == AgentState.LIVE),
    )


def waiting_for(
    action: ExecutionAction, following: Callable[[], Following] | None = None
) -> list[str]:
    """Return the brokers whose answer the action needs before it goes on, sorted. `following` is
    asked for moves of the map that brokers have to follow alone."""
    if changes_map(action.action):
        return following().waiting_for(action) if following and action.interests else []
    concerned = brokers(action.action)
    if protocol(action.action) == "setting":
        waits = action.state in (ActionState.PREPARING, ActionState.COMMITTED)
        return sorted(concerned) if waits else []
    wanted = ANSWERS.get(action.state, frozenset())
    if not wanted:
        return []
    answered = {
        report.broker
        for report in action.reports.all()
        if report.attempt == action.attempt
        and report.phase in wanted
        and not (report.phase == ReportPhase.SWITCHED and report.by_hand)
    }
    return sorted(set(concerned) - answered - absent(action.action))


def execution_news(execution: Execution) -> dict[str, Any]:
    """Return what a browser needs at once when an execution changes."""
    return {
        "id": execution.public_id,
        "plan": execution.subject_id,
        "system": execution.system.public_id,
        "number": execution.number,
        "state": execution.state,
    }
