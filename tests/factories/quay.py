"""A small system whose allocation was planned, approved and carried out by simulated agents."""

from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.allocations.models import Allocation
from apps.allocations.services.propose import allocation_plan
from apps.catalog.models import ConsumerClass
from apps.executions.models import Setting
from apps.executions.services import executions_tick
from apps.executions.services.reports import agent_heard, session_open
from apps.plans.models import Plan
from apps.plans.services import plan_approve, plan_execute, plan_submit, plans_settle
from apps.systems.models import System
from apps.systems.services import entity_create
from apps.telemetry.models import Agent, Sample
from apps.telemetry.services import Introduction, agent_enrol
from apps.topology.models import Broker
from tests.factories import make_broker, make_link, make_system, make_topic, make_user, make_utility
from tests.factories.fleet import put_in_force, seen_at
from tests.factories.runs import make_allocation
from weir.lifecycle.plans import PlanState


@dataclass
class Quay:
    """Topics t1 and t2 enter at b1 (1,000 CPU units/s) and cross the link to b2; four consumers of
    each at b1 take 1 unit per message, the broker itself 1: at 100 msg/s each b1 is full."""

    system: System
    brokers: dict[str, Broker]
    author: User
    reviewer: User
    agents: dict[str, Agent] = field(default_factory=dict)

    def come(self) -> None:
        """An agent at every broker."""
        introduction = Introduction(
            agent_version="1", product="simulated", address="sim://b", facts={}, capabilities={}
        )
        for name, broker in self.brokers.items():
            agent, _ = agent_enrol(broker=broker, actor=None)
            self.agents[name] = session_open(agent=agent, introduction=introduction)

    def look(self) -> None:
        """Every agent takes over what it is asked for and says so."""
        for name, agent in self.agents.items():
            agent_heard(
                agent=agent,
                incarnation=agent.incarnation,
                reports=[],
                observed=seen_at(self.system, name),
                telemetry=None,
            )

    def measure(self, broker: str = "b1", **payload: Any) -> None:
        """One sample of a broker, now."""
        whole = {"interval_s": 1.0, "flows": {}, "classes": {}, "links": {}, **payload}
        Sample.objects.create(broker=self.brokers[broker], at=timezone.now(), payload=whole)

    def passed(self, **rates: float) -> None:
        """A sample of b1 in which these rates passed; older ones are forgotten."""
        Sample.objects.all().delete()
        self.measure(
            flows={
                flow: {"offered_per_s": rate, "passed_per_s": rate, "shed_per_s": 0, "backlog": 0}
                for flow, rate in rates.items()
            }
        )

    def plan(self, allocation: Allocation) -> Plan:
        """The allocation's plan, approved."""
        plan = allocation_plan(allocation=allocation, actor=self.author)
        plan = plan_submit(plan=plan, actor=self.author)
        return plan_approve(plan=plan, actor=self.reviewer, content_hash=plan.content_hash)

    def carry_out(self, plan: Plan) -> Plan:
        """The plan, executed."""
        plan_execute(plan=plan, actor=self.reviewer)
        return self.follow(plan)

    def moor(self) -> "Quay":
        """Agents come, and the system's allocation is in force."""
        # The first solve of a process loads its kernels; agents that wait for it count as silent.
        allocation = make_allocation(self.system)
        self.come()
        self.carry_out(self.plan(allocation))
        return self

    def follow(self, plan: Plan) -> Plan:
        """The plan, after its execution ended."""
        for _ in range(6):
            self.look()
            executions_tick()
        plans_settle()
        plan.refresh_from_db()
        assert plan.state == PlanState.EXECUTED
        return plan

    def controlled(self) -> dict[str, float | None]:
        """Flow -> what the controller asks for."""
        rows = Setting.objects.filter(system=self.system, kind="set_flow_rate")
        return {row.target["flow"]: row.controlled and row.controlled["rate_per_s"] for row in rows}

    def approved(self) -> dict[str, float]:
        """Flow -> what was approved."""
        rows = Setting.objects.filter(system=self.system, kind="set_flow_rate")
        return {row.target["flow"]: row.in_force["rate_per_s"] for row in rows}


def make_quay() -> Quay:
    """The system, its flows and classes in force, without rates and limits."""
    system = make_system("quay")
    brokers = {name: make_broker(system, name) for name in ("b1", "b2")}
    link = make_link(system, brokers["b1"], brokers["b2"], "l12")
    utility = make_utility(system)
    for name in ("t1", "t2"):
        topic = make_topic(
            system,
            name,
            source=brokers["b1"],
            rate_max_per_s=300.0,
            node_costs=[{"broker": brokers["b1"], "resource": "cpu", "cost": 1.0}],
            link_costs=[{"link": link, "cost": 1.0}] if name == "t1" else [],
        )
        entity_create(
            model=ConsumerClass,
            system=system,
            actor=None,
            values={
                "name": f"g-{name}",
                "topic": topic,
                "broker": brokers["b1"],
                "utility": utility,
                "population_max": 4,
            },
            children={"costs": [{"resource": "cpu", "cost": 1.0}]},
        )
    system.refresh_from_db()
    put_in_force(system)
    return Quay(
        system=system,
        brokers=brokers,
        author=make_user("author", Role.EDITOR),
        reviewer=make_user("reviewer", Role.APPROVER, Role.OPERATOR),
    )
