"""Handle what agents report: sessions, reports, observations; each advances the executions it is
about."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q

from apps.common.events import publish
from apps.executions.models import (
    ACTIVE_NAMES,
    ActionReport,
    Execution,
    ExecutionAction,
    Revision,
)
from apps.executions.selectors.flow_map import MAP_KINDS
from apps.executions.services.advance import execution_advance
from apps.executions.services.documents import revision_bump
from apps.executions.services.restored import restored_text
from apps.executions.services.settings import lists_settle
from apps.executions.services.transitions import tell
from apps.telemetry.models import Agent
from apps.telemetry.services import (
    Introduction,
    agent_obeyed,
    agent_report,
    agent_serve,
    agent_session,
)
from weir.actions import absent, brokers
from weir.coordination.wire import Report, ReportPhase, observed_from_dict
from weir.errors import InvalidProblem
from weir.lifecycle.steps import ActionState

logger = logging.getLogger(__name__)

LOOK_EVERY = 10
"""Of so many reports that show nothing new, one is followed up all the same: whoever stored the one
that did may have died before it did what follows."""
FURTHEST = 2**40
"""By how much a document number may be above ours and still be believed. A database never lags that
far behind, and 8,000 such claims may be adopted before agents run out of numbers."""


@transaction.atomic
def session_open(*, agent: Agent, introduction: Introduction) -> Agent:
    """Open the next incarnation; the broker's neighbours learn its address.

    Raises InvalidProblem for a number that nobody can have.
    """
    _check_number(agent, introduction.number)
    opened = agent_session(agent=agent, introduction=introduction)
    if opened.is_ahead:
        logger.error("%s", restored_text(opened.system))
    revision_bump(opened.system)
    publish("document", system=opened.system.public_id)
    return opened


def agent_ahead(*, agent: Agent, number: int) -> None:
    """Record that an agent has obeyed the document of this number; if it was never sent here, none
    are sent from now on. Raises InvalidProblem for an impossible number."""
    _check_number(agent, number)
    with transaction.atomic():
        if agent_obeyed(agent=agent, number=number):
            logger.error("%s", restored_text(agent.system))
            revision_bump(agent.system)
            publish("document", system=agent.system.public_id)


def document_serve(*, agent: Agent, incarnation: int, obeyed: int, number: int) -> bool:
    """Record, before it is sent, which document an agent is sent. Raises Fenced.

    False: this database has gone back since the agent asked, or since the document was read. A
    process that outlives that still shows what is no more; recorded as sent, it would hide what
    agents have obeyed.
    """
    agent_ahead(agent=agent, number=obeyed)
    if not Revision.objects.filter(system=agent.system_id, number__gte=number).exists():
        return False
    return agent_serve(agent=agent, incarnation=incarnation, number=number)


def _check_number(agent: Agent, number: int) -> None:
    """Refuse an impossible document number: adopting a restored database lifts the system's number
    above every claimed one, so a claim without bounds would leave none that agents can name."""
    if number <= agent.served_number + FURTHEST:
        return
    rows = Revision.objects.filter(system=agent.system_id).values_list("number", flat=True)
    newest = rows.first() or 0
    if number > newest + FURTHEST:
        raise InvalidProblem("number", f"{number} is no document's: the newest here is {newest}")


def agent_heard(
    *,
    agent: Agent,
    incarnation: int,
    sequence: int | None = None,
    reports: Sequence[Report],
    observed: Mapping[str, Any] | None,
    telemetry: Mapping[str, Any] | None,
) -> None:
    """Store what an agent reports, then do what follows from it. Raises Fenced.

    Stored first, in a transaction of its own: a fault in what follows must not lose a vote. The
    coordinator's next tick would do the same; doing it here saves the wait.
    """
    with transaction.atomic():
        # A report lost with the database is said again, so this commit need not wait for the disk;
        # whatever is decided from it does, and that flushes this too.
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
        changed = agent_report(
            agent=agent,
            incarnation=incarnation,
            sequence=sequence,
            observed=observed,
            telemetry=telemetry,
        )
        reported = _keep(agent, incarnation, reports)
    concerned = set(reported)
    if observed is not None and observed.get("publishers"):
        # Whether a doubt can end depends on executions, too, and not on what is seen alone.
        lists_settle(
            system=agent.system, broker=agent.broker.name, seen=observed_from_dict(observed)
        )
    looks_again = sequence is None or sequence % LOOK_EVERY == 0
    if observed is not None and (changed or looks_again):
        # A broker may follow a move that was given up.
        given_up = ExecutionAction.objects.filter(
            step__execution=OuterRef("pk"),
            state=ActionState.DEAD,
            kind__in=sorted(MAP_KINDS),
            interests__has_key=agent.broker.name,
        )
        going_on = Execution.objects.filter(
            Q(state__in=ACTIVE_NAMES) | Exists(given_up), system_id=agent.system_id
        )
        concerned |= set(going_on.values_list("pk", flat=True))
    for execution_id in sorted(concerned):
        try:
            if not execution_advance(execution_id) and execution_id in reported:
                # Nothing follows yet, but one broker fewer is waited for.
                tell(Execution.objects.select_related("system").get(pk=execution_id))
        except Exception:
            logger.exception("execution %s cannot go on; the coordinator tries again", execution_id)


def _keep(agent: Agent, incarnation: int, reports: Sequence[Report]) -> set[int]:
    """Store the reports, each once; returns the executions that they are about.

    What names no action of this system in which the broker takes part is dropped: the agent may
    be speaking of an execution that was deleted.
    """
    if not reports:
        return set()
    rows = ExecutionAction.objects.filter(
        public_id__in={report.action for report in reports},
        step__execution__system_id=agent.system_id,
    ).select_related("step")
    name = agent.broker.name
    actions = {
        str(row.public_id): row
        for row in rows
        if name in brokers(row.action) and name not in absent(row.action)
    }
    heard = [
        (actions[report.action], report)
        for report in reports
        if report.action in actions and report.attempt <= actions[report.action].attempt
    ]
    ActionReport.objects.bulk_create(
        [
            ActionReport(
                action=action,
                attempt=report.attempt,
                broker=agent.broker.name,
                phase=report.phase.value,
                interest=list(report.interest),
                pause_s=report.pause_s,
                detail=report.detail,
                interests={role: list(flows) for role, flows in report.interests.items()},
                by_hand=report.by_hand,
                incarnation=incarnation,
            )
            for action, report in heard
        ],
        ignore_conflicts=True,
    )
    for action, report in heard:
        if report.phase is ReportPhase.SWITCHED and not report.by_hand:
            # Who switched by hand has heard now that the database follows.
            ActionReport.objects.filter(
                action=action,
                attempt=report.attempt,
                broker=agent.broker.name,
                phase=report.phase.value,
            ).exclude(by_hand="").update(by_hand="")
    return {action.step.execution_id for action, _ in heard}
