"""From a broker that fell silent to an overlay without it, over the real application."""

import math
from collections.abc import Mapping
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import Conflict
from apps.evaluations.selectors.repairs import repairs
from apps.evaluations.services import repair_plan
from apps.executions.models import Execution, ExecutionAction, Setting
from apps.executions.selectors import edges_in_force
from apps.executions.services import commands
from apps.executions.services.advance import execution_advance
from apps.plans.models import Plan
from apps.plans.selectors.checks import FAIL, GONE, ROLL_BACK, WARN
from apps.plans.services import plan_dry_run, plan_execute, plans_settle
from apps.telemetry.models import Agent, Removal, Sample
from apps.telemetry.services import agent_enrol, samples_prune
from tests.factories import make_class, make_topic, make_user
from tests.factories.fleet import (
    FakeAgent,
    Harbour,
    Loop,
    document_for,
    enrol,
    make_harbour,
    shift,
    start,
)
from tests.factories.plans import approved, make_policy, seen
from weir.coordination.wire import OrderPhase

pytestmark = pytest.mark.django_db(transaction=True)

SAID = {
    OrderPhase.PREPARE: "ready",
    OrderPhase.COMMIT: "switched",
    OrderPhase.ABORT: "released",
}
Agents = Mapping[str, FakeAgent]


@pytest.fixture
def loop(transactional_db: None):
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def harbour(transactional_db: None) -> Harbour:
    """a - b - c - d; besides, flow `buoys` comes in at c."""
    harbour = make_harbour()
    buoys = make_topic(harbour.system, "buoys", source=harbour.brokers["c"], delivery="reliable")
    make_class(harbour.system, buoys, harbour.brokers["a"], "keepers")
    return harbour


@pytest.fixture
def agents(loop: Loop, harbour: Harbour) -> Agents:
    return {name: enrol(loop, broker).come() for name, broker in harbour.brokers.items()}


@pytest.fixture
def ines(transactional_db: None) -> User:
    return make_user("ines", Role.EDITOR)


def silence(*brokers: str, seconds: float = 900.0) -> None:
    """Nobody has heard of these for so long."""
    since = timezone.now() - timedelta(seconds=seconds)
    Agent.objects.filter(broker__name__in=brokers).update(
        lease_until=since + timedelta(seconds=10), last_report_at=since
    )


def measure(harbour: Harbour, broker: str, ago_s: float = 900.0) -> None:
    """What the broker said last of what waits there."""
    Sample.objects.create(
        broker=harbour.brokers[broker],
        at=timezone.now() - timedelta(seconds=ago_s),
        payload={
            "flows": {"buoys": {"backlog": 1204}},
            "links": {"b": {"backlog": 0}, "d": {"backlog": 17}},
        },
    )


def executing(plan: Plan, ines: User) -> Execution:
    plan = approved(plan, ines, make_user("jon", Role.APPROVER))
    return plan_execute(plan=plan, actor=make_user("olga", Role.OPERATOR))


def carry_on(execution: Execution, agents: Agents, *who: str) -> str:
    """These answer until the execution has ended; the state it ended in."""
    for _ in range(10):
        for name in who:
            for order in agents[name].poll_now().orders:
                said = {"action": order.action, "attempt": order.attempt, "interest": []}
                agents[name].say({**said, "phase": SAID[order.phase]})
        execution.refresh_from_db()
        if execution.state in ("succeeded", "failed", "stopped", "rolled_back"):
            plans_settle()
            return str(execution.state)
    return str(execution.state)


def test_a_silent_broker_is_removed_and_the_tree_is_whole_again(harbour, agents, ines):
    measure(harbour, "c")
    silence("c")
    plan = repair_plan(broker=harbour.brokers["c"], actor=ines)
    action = plan.content.steps[0].actions[0]
    assert action.kind == "remove_broker"
    assert set(action.target.values()) == {"b", "c", "d"}
    execution = executing(plan, ines)
    assert carry_on(execution, agents, "b", "d") == "succeeded"
    assert edges_in_force(harbour.system) == {("a", "b"), ("b", "d")}
    plan.refresh_from_db()
    assert plan.state == "executed"
    assert agents["b"].poll_now().neighbours.keys() == {"a", "d"}


def test_the_plan_says_what_is_lost_and_who_has_to_go_elsewhere(harbour, agents, ines):
    measure(harbour, "c")
    silence("c")
    said = "\n".join(repair_plan(broker=harbour.brokers["c"], actor=ines).content.why)
    assert "c alone held at least 1,204 of buoys and 17 on their way to d, measured" in said
    assert "Publishers of buoys came in at c" in said
    assert "Consumer classes at c get nothing" in said
    assert "gulls (" in said
    assert "This cannot be rolled back" in said


def test_what_was_never_measured_is_said_to_be_unknown(harbour, agents, ines):
    silence("c")
    said = "\n".join(repair_plan(broker=harbour.brokers["c"], actor=ines).content.why)
    assert "What c held was never measured. Nothing is known of buoys." in said


def test_the_last_word_of_a_silent_broker_outlives_the_others(harbour, agents):
    measure(harbour, "c", ago_s=90_000)
    measure(harbour, "c", ago_s=80_000)
    samples_prune()
    assert Sample.objects.filter(broker=harbour.brokers["c"]).count() == 1


def test_its_agent_is_a_stranger_and_its_settings_are_in_force_no_more(harbour, agents, ines):
    agents["c"].obey()
    Setting.objects.create(
        system=harbour.system,
        kind="set_flow_rate",
        target={"flow": "buoys", "broker": "c"},
        target_key='{"broker":"c","flow":"buoys"}',
        in_force={"rate_per_s": 5.0, "burst": 1.0},
        desired={"rate_per_s": 5.0, "burst": 1.0},
    )
    Setting.objects.create(
        system=harbour.system,
        kind="serve_class",
        target={"class": "pilots", "broker": "c"},
        target_key='{"broker":"c","class":"pilots"}',
        in_force={"flow": "soundings"},
        desired={"flow": "soundings"},
    )
    carried = {"delivery": "reliable", "broker": "c"}
    for flow, desired in (("soundings", carried), ("beacons", {**carried, "broker": "d"})):
        Setting.objects.create(
            system=harbour.system,
            kind="carry_flow",
            target={"flow": flow},
            target_key=f'{{"flow":"{flow}"}}',
            in_force=carried,
            desired=desired,
        )
    measure(harbour, "c")
    silence("c")
    execution = executing(repair_plan(broker=harbour.brokers["c"], actor=ines), ines)
    assert carry_on(execution, agents, "b", "d") == "succeeded"
    answer = agents["c"].post(
        "session",
        {
            "agent_version": "1",
            "product": "simulated",
            "address": "sim://c",
            "facts": {},
            "capabilities": {},
        },
    )
    assert answer.status_code == 401
    assert not Setting.objects.filter(target__broker="c").exists()
    flows = Setting.objects.filter(kind="carry_flow", target__flow__in=["soundings", "beacons"])
    nowhere = {"delivery": "reliable", "broker": ""}
    assert [(row.in_force, row.desired) for row in flows.order_by("target_key")] == [
        (nowhere, {**carried, "broker": "d"}),
        (nowhere, nowhere),
    ]
    document = document_for(Agent.objects.get(broker__name="b"))
    assert document.flows["soundings"].delivery == "reliable"
    assert Removal.objects.get().held["flows"] == {"buoys": 1204}
    entry = AuditEntry.objects.get(action="remove")
    assert entry.after["held"]["links"] == {"b": 0, "d": 17}
    agent_enrol(broker=harbour.brokers["c"], actor=ines)
    assert Removal.objects.get().over_at is not None


def test_nobody_is_removed_before_the_policy_lets_them(harbour, agents, ines):
    make_policy(harbour.system, remove_after_s=600)
    silence("c", seconds=500)
    with pytest.raises(Conflict, match="silent for 500 s; the policy lets a plan remove it after"):
        repair_plan(broker=harbour.brokers["c"], actor=ines)
    with pytest.raises(Conflict, match="The agent of b speaks"):
        repair_plan(broker=harbour.brokers["b"], actor=ines)


def test_whoever_speaks_again_before_the_execution_makes_the_plan_stale(harbour, agents, ines):
    silence("c")
    plan = approved(
        repair_plan(broker=harbour.brokers["c"], actor=ines),
        ines,
        make_user("jon", Role.APPROVER),
    )
    olga = make_user("olga", Role.OPERATOR)
    checks = {check.name: check for check in plan_dry_run(plan=plan, actor=olga, tells=False)}
    assert checks[GONE].state == "pass"
    assert checks[ROLL_BACK].state == WARN
    agents["c"].come()
    checks = {check.name: check for check in plan_dry_run(plan=plan, actor=olga, tells=False)}
    assert (checks[GONE].state, "c speaks" in checks[GONE].detail) == (FAIL, True)
    with pytest.raises(Conflict, match="still reports: c speaks"):
        plan_execute(plan=plan, actor=olga)
    plan.refresh_from_db()
    assert plan.state == "stale"


def test_whoever_speaks_again_in_the_middle_of_it_stays(harbour, agents, ines):
    silence("c")
    execution = executing(repair_plan(broker=harbour.brokers["c"], actor=ines), ines)
    agents["c"].come()
    for name in "bd":
        agents[name].answer("ready")
    assert edges_in_force(harbour.system) == {("a", "b"), ("b", "c"), ("c", "d")}
    assert not Removal.objects.exists()
    action = execution.steps.get().actions.get()
    assert "the agent of c speaks again" in action.detail
    assert agents["c"].poll_now().orders == ()


def test_brokers_that_are_linked_go_together(harbour, agents, ines):
    silence("b", "c")
    plan = repair_plan(broker=harbour.brokers["b"], actor=ines)
    execution = executing(plan, ines)
    assert carry_on(execution, agents, "a", "d") == "succeeded"
    assert edges_in_force(harbour.system) == {("a", "d")}


def test_a_removal_is_not_rolled_back_and_nobody_is_offered_that(harbour, agents, ines, client):
    silence("b", "c")
    plan = repair_plan(broker=harbour.brokers["b"], actor=ines)
    assert carry_on(executing(plan, ines), agents, "a", "d") == "succeeded"
    plans_settle()
    client.force_login(ines)
    shown = client.get(f"/api/v1/plans/{plan.public_id}").json()
    assert (shown["state"], shown["allowed_commands"]) == ("executed", ["edit"])
    address = f"/api/v1/plans/{plan.public_id}/roll-back"
    answer = client.post(address, {}, "application/json", headers=seen(plan))
    assert (answer.status_code, answer.json()["code"]) == (409, "cannot_be_rolled_back")


def test_what_waited_for_it_from_before_ends_with_its_removal(harbour, agents, ines, monkeypatch):
    """A shift that was buried because it never answered."""
    for agent in agents.values():
        agent.poll_now()
    moved = start(harbour.system, [shift("b", "c", "d")])
    for name in "bcd":
        agents[name].answer("ready")
    for name in "bd":
        agents[name].answer("switched")
    silence("c")
    execution_advance(moved.pk, now=timezone.now() + timedelta(seconds=700))
    moved.refresh_from_db()
    assert moved.steps.get().actions.get().state == "dead"
    Agent.objects.exclude(broker__name="c").update(
        lease_until=timezone.now() + timedelta(seconds=60)
    )
    harbour.system.refresh_from_db()
    execution = executing(repair_plan(broker=harbour.brokers["c"], actor=ines), ines)
    assert carry_on(execution, agents, "b", "d") == "succeeded"
    assert moved.steps.get().actions.get().state == "done"
    # The process that removed the broker died before it came to this.
    ExecutionAction.objects.filter(step__execution=moved).update(state="dead")
    monkeypatch.setattr(commands, "_pruned_at", -math.inf)
    commands.executions_tick()
    assert moved.steps.get().actions.get().state == "done"


def test_everybody_sees_who_is_silent_and_since_when(harbour, agents):
    make_policy(harbour.system, remove_after_s=600)
    silence("c", seconds=700)
    silence("d", seconds=100)
    rows = {row.broker_name: row for row in repairs(harbour.system)}
    assert (rows["c"].removable, rows["d"].removable) == (True, False)
    assert rows.keys() == {"c", "d"}


def test_the_api_makes_the_plan_and_names_who_may_not(harbour, agents, ines, client):
    silence("c")
    body = {"broker": str(harbour.brokers["c"].public_id)}
    client.force_login(make_user("vera", Role.VIEWER))
    assert client.post("/api/v1/repairs", body, "application/json").status_code == 403
    listed = client.get(f"/api/v1/repairs?system={harbour.system.public_id}")
    assert [row["broker_name"] for row in listed.json()["results"]] == ["c"]
    assert listed.json()["results"][0]["allowed_commands"] == []
    client.force_login(ines)
    listed = client.get(f"/api/v1/repairs?system={harbour.system.public_id}")
    assert listed.json()["results"][0]["allowed_commands"] == ["plan"]
    answer = client.post("/api/v1/repairs", body, "application/json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["kind"] == "repair"
    assert client.post("/api/v1/repairs", {}, "application/json").status_code == 400
