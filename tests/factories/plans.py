"""Plans on the harbour, led into their states by the services; agents that see what is asked."""

from collections.abc import Iterable, Mapping
from typing import Any

from apps.accounts.models import User
from apps.executions.models import Execution
from apps.executions.services import executions_tick
from apps.executions.services.reports import agent_heard, session_open
from apps.plans.models import Plan
from apps.plans.selectors.versions import plan_version
from apps.plans.services import plan_approve, plan_create, plan_execute, plan_submit, plans_settle
from apps.policies.services import policy_for, policy_update
from apps.systems.models import System
from apps.systems.services import entity_update
from apps.telemetry.models import Agent
from apps.telemetry.services import Introduction, agent_enrol
from tests.factories.fleet import Harbour, population, rate, seen_at
from weir.model.plan import Action, Bound, Promise, Source, Step
from weir.model.plan import Plan as Document


def seen(plan: Plan | str) -> dict[str, str]:
    """The header by which a command names the plan as it is now; a text is its id."""
    row = Plan.objects.get(public_id=plan) if isinstance(plan, str) else plan
    return {"If-Match": f'"{plan_version(row)}"'}


def make_document(
    system: System, *steps: Iterable[Action], title: str = "Spring tide", **values: Any
) -> Document:
    """A plan of these steps; by default it lowers the tides and lets five gulls in."""
    defaults: dict[str, Any] = {
        "kind": "allocation",
        "model_version": system.model_version,
        "snapshot_hash": "ab" * 32,
        "source": Source(kind="allocation", id="", name="A-3"),
        "why": ("Broker c is full.",),
        "promise": (Promise(name="utility", unit="", before=100.0, after=140.0),),
    }
    return Document(
        system=str(system.public_id),
        title=title,
        steps=tuple(Step(actions=tuple(step)) for step in steps or first_steps()),
        **{**defaults, **values},
    )


def first_steps() -> list[list[Action]]:
    """The first limits of the harbour: 40 msg/s for the tides, 5 gulls."""
    return [[rate(None, 40.0), population(None, 5)]]


def make_plan(system: System, author: User | None, *steps: Iterable[Action], **values: Any) -> Plan:
    """A draft."""
    system.refresh_from_db()
    return plan_create(
        system=system, actor=author, document=make_document(system, *steps, **values)
    )


def envelope(low: float, high: float, name: str = "tides") -> tuple[Bound, ...]:
    """The load that a plan assumes."""
    return (Bound(name=name, unit="msg/s", low=low, high=high),)


def make_policy(system: System | None, *, by: User | None = None, **values: Any) -> None:
    """Say what the system's policy shall ask."""
    policy = policy_for(system)
    policy_update(policy=policy, actor=by, expected_version=policy.version, values=values)


def submitted(plan: Plan, by: User) -> Plan:
    """The plan in review."""
    return plan_submit(plan=plan, actor=by)


def approved(plan: Plan, submitter: User, *reviewers: User) -> Plan:
    """The plan with these approvals."""
    row = plan_submit(plan=plan, actor=submitter)
    for reviewer in reviewers:
        row = plan_approve(plan=row, actor=reviewer, content_hash=row.content_hash)
    return row


def edit_model(harbour: Harbour, actor: User | None = None) -> None:
    """Somebody changes a topic, so that the model has moved."""
    topic = harbour.topic
    topic.refresh_from_db()
    entity_update(
        instance=topic,
        actor=actor,
        expected_version=topic.version,
        values={"rate_max_per_s": topic.rate_max_per_s + 1},
    )
    harbour.system.refresh_from_db()


def agents_come(harbour: Harbour, *brokers: str) -> dict[str, Agent]:
    """Agents at these brokers (default: all) open their sessions."""
    introduction = Introduction(
        agent_version="1.0", product="simulated", address="sim://b", facts={}, capabilities={}
    )
    return {
        name: session_open(
            agent=agent_enrol(broker=harbour.brokers[name], actor=None)[0],
            introduction=introduction,
        )
        for name in brokers or harbour.brokers
    }


def agents_look(
    harbour: Harbour, agents: Mapping[str, Agent], *, offered: float | None = None
) -> None:
    """Every agent takes over what it is asked for and says so, with what the tides offer."""
    for name, agent in agents.items():
        flows = {"tides": {"offered_per_s": offered, "passed_per_s": min(offered or 0.0, 40.0)}}
        classes = {"gulls": {"admitted": 5, "waiting": 0, "delivered_per_s": 1.0}}
        agent_heard(
            agent=agent,
            incarnation=agent.incarnation,
            reports=[],
            observed={**seen_at(harbour.system, name), "links": links(name)},
            telemetry=None
            if offered is None
            else {
                "interval_s": 1.0,
                "flows": flows if name == "a" else {},
                "classes": classes if name == "c" else {},
            },
        )


def links(name: str) -> list[str]:
    """Neighbours in the row a - b - c - d."""
    row = "abcd"
    place = row.index(name)
    return [row[i] for i in (place - 1, place + 1) if 0 <= i < len(row)]


def carried_out(
    harbour: Harbour, agents: Mapping[str, Agent], plan: Plan, operator: User
) -> Execution:
    """The plan's execution, after it succeeded and the plan was told."""
    execution = plan_execute(plan=plan, actor=operator)
    for _ in range(6):
        agents_look(harbour, agents)
        executions_tick()
    execution.refresh_from_db()
    assert execution.state == "succeeded", execution.state
    plans_settle()
    plan.refresh_from_db()
    return execution
