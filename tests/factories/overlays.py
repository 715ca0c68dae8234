"""A small system whose traffic asks for another tree, and its evaluations, without Spark."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import User
from apps.evaluations.models import Candidate, Evaluation
from apps.evaluations.services import evaluation_request
from apps.executions.models import UNDER_WAY_NAMES, Execution, ExecutionAction
from apps.executions.services import executions_tick
from apps.executions.services.reports import agent_heard
from apps.plans.services import plans_settle
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.models import Agent
from apps.topology.models import Broker, Link, Overlay
from spark_tasks.jobs.evaluate import answer_of
from tests.factories import make_broker, make_class, make_system, make_topic
from tests.factories.runs import claim
from tests.weir.evaluation.whole import evaluate
from weir import actions
from weir.codec.evaluation import evaluation_from_json
from weir.coordination.wire import Report, ReportPhase
from weir.evaluation.portfolio import portfolio_from_dict

EDGES = ("ab", "bc", "cd", "de")
"""A row of five brokers: what a publishes for e crosses four links."""

GOAL = ("ab", "bc", "cd", "ae")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Brokers a - b - c - d - e; topic `news` enters at a and is read at e, `local` at b and c."""

    system: System
    brokers: Mapping[str, Broker]
    overlay: Overlay
    goal: Overlay

    def fresh(self) -> System:
        """The system as it is now."""
        self.system.refresh_from_db()
        return self.system


def make_tree(
    system: System, brokers: Mapping[str, Broker], name: str, edges: Any, **values: Any
) -> Overlay:
    """An overlay; an edge is written `ab`."""
    return entity_create(
        model=Overlay,
        system=system,
        actor=None,
        values={"name": name, **values},
        children={"edges": [{"a": brokers[e[0]], "b": brokers[e[1]]} for e in edges]},
    )


def make_row(name: str = "row", edges: tuple[str, ...] = EDGES) -> Row:
    system = make_system(name)
    brokers = {letter: make_broker(system, letter, cpu=10_000.0) for letter in "abcde"}
    for pair in EDGES:
        entity_create(
            model=Link,
            system=system,
            actor=None,
            values={
                "name": f"{pair[0]}.{pair[1]}",
                "source": brokers[pair[0]],
                "target": brokers[pair[1]],
                "capacity": 10_000.0,
                "latency_s": 0.01,
            },
        )
    for topic, source, reader, rate in (("news", "a", "e", 100.0), ("local", "b", "c", 10.0)):
        row = make_topic(
            system,
            topic,
            source=brokers[source],
            rate_max_per_s=rate,
            node_costs=[{"broker": brokers[source], "resource": "cpu", "cost": 1.0}],
        )
        make_class(system, row, brokers[reader], f"readers-{topic}")
    return Row(
        system=system,
        brokers=brokers,
        overlay=make_tree(system, brokers, "v1", edges, in_force=True),
        goal=make_tree(system, brokers, "short", GOAL, purpose="goal"),
    )


def kernel_answer(run: Run) -> bytes:
    """What the Spark job would answer, computed in this process."""
    problem = evaluation_from_json(bytes(run.snapshot.payload))
    portfolio = portfolio_from_dict(run.parameters)
    result = evaluate(problem, portfolio, clock=time.monotonic, limit_s=run.time_limit_s)
    return answer_of(problem, result)


def make_evaluation(row: Row, actor: User | None = None, **values: Any) -> Evaluation:
    """A finished evaluation of the stored goal, unless told otherwise."""
    request: dict[str, Any] = {"goals": [row.goal], "methods": [], "time_limit_s": 5.0, **values}
    evaluation = evaluation_request(system=row.system, actor=actor, **request)
    run = claim(evaluation.run)
    run_store(run, kernel_answer(run))
    row.system.refresh_from_db()
    return Evaluation.objects.get(pk=evaluation.pk)


def goal_of(evaluation: Evaluation) -> Candidate:
    """Its candidate that is the stored goal."""
    return Candidate.objects.get(evaluation=evaluation, kind="goal")


def agents_say(
    agents: Mapping[str, Agent], execution: Execution, phase: str, *, pause_s: float | None = None
) -> None:
    """Every participant of every action under way says this of its attempt."""
    under_way = ExecutionAction.objects.filter(
        step__execution=execution, state__in=UNDER_WAY_NAMES
    ).order_by("id")
    said = [
        (
            broker,
            Report(
                action=str(row.public_id),
                attempt=row.attempt,
                phase=ReportPhase(phase),
                pause_s=pause_s,
            ),
        )
        for row in under_way
        for broker in actions.brokers(row.action)
    ]
    assert said, f"{execution} is {execution.state}: nothing is under way"
    for broker, report in said:
        agent_heard(
            agent=agents[broker],
            incarnation=agents[broker].incarnation,
            reports=[report],
            observed=None,
            telemetry=None,
        )
    executions_tick()
    plans_settle()
    execution.refresh_from_db()


def one_step(
    agents: Mapping[str, Agent], execution: Execution, *, pause_s: float | None = None
) -> None:
    """The running step, prepared and switched by its agents, who paused for so long."""
    agents_say(agents, execution, "ready")
    agents_say(agents, execution, "switched", pause_s=pause_s)
