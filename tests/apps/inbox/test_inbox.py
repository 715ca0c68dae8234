"""Everybody is called to what waits for their roles, for as long as it does, to nothing else."""

import sys
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.accounts.services import automatic_account, token_create
from apps.catalog.models import Slo
from apps.executions.models import Execution
from apps.executions.services import execution_pause, execution_resume, executions_tick
from apps.executions.services.reports import agent_heard
from apps.inbox.domain.items import AUDIENCE, COMES_BACK, ItemKind, named
from apps.inbox.models import KEPT, Item
from apps.inbox.selectors.surroundings import (
    ALL_SILENT_FOR,
    LOST_WITHIN,
    SILENT_FOR,
    Hearing,
)
from apps.inbox.services import backlog_items_keep, items_keep, keep
from apps.integrations.models import Change, ConnectedSystem, Connection, Message
from apps.pipeline.models import ObjectiveTerm
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_reject, plans_settle, windows_hold
from apps.systems.services import entity_create
from apps.systems.services.systems import system_delete
from apps.telemetry.models import Agent, Loss, Sample
from apps.telemetry.services import agent_enrol
from apps.webhooks.models import Webhook
from apps.webhooks.services.send import OTHER_KEY
from tests.conftest import client_of
from tests.factories import make_system, make_topic, make_user
from tests.factories.backlogs import RISE, waits
from tests.factories.fleet import Harbour, make_harbour, population, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    edit_model,
    make_plan,
    make_policy,
    submitted,
)
from weir.lifecycle.changes import ChangeState

pytestmark = pytest.mark.django_db

ALWAYS_CLOSED = [{"effect": "deny", "cron": "* * * * *", "duration_s": 3600, "note": "Freeze"}]


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture(autouse=True)
def nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that raises is logged, and its items stay; no test may pass by that."""

    def fail(*args: object) -> None:
        raise AssertionError(args) from sys.exception()

    monkeypatch.setattr(keep.logger, "exception", fail)


@pytest.fixture(autouse=True)
def hearing(monkeypatch: pytest.MonkeyPatch) -> Hearing:
    """What hears agents has done so for long."""
    hearing = keep.hearing
    for name in ("_last", "since", "awake_since"):
        monkeypatch.setattr(hearing, name, None)
    long_ago = timezone.now() - timedelta(hours=1)
    hearing.look(long_ago, hears=True)
    hearing._last = timezone.now()
    return hearing


@pytest.fixture
def people(db: None) -> dict[str, User]:
    """Somebody of each role, by its name."""
    return {role.value: make_user(role.value, role) for role in Role}


@pytest.fixture
def plan(harbour: Harbour, people: dict[str, User]) -> Plan:
    """A draft of the editor's."""
    return make_plan(harbour.system, people["editor"])


def inbox(person: User) -> list[dict[str, Any]]:
    items_keep()
    answer = client_of(person).get("/api/v1/inbox")
    assert answer.status_code == 200
    body = answer.json()
    assert body["count"] == len(body["results"])
    assert body["waiting"] == sum(row["waits"] for row in body["results"])
    rows: list[dict[str, Any]] = body["results"]
    return rows


def kinds(person: User) -> list[str]:
    return [row["kind"] for row in inbox(person)]


def nobody_is_called(people: dict[str, User]) -> bool:
    return all(kinds(person) == [] for person in people.values())


# --- plans


def test_a_plan_goes_from_reviewer_to_operator(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    assert nobody_is_called(people)
    row = submitted(plan, people["editor"])
    (item,) = inbox(people["approver"])
    assert item["kind"] == "plan_to_review"
    assert item["waits"] is True
    assert item["about"] == str(plan.public_id)
    assert item["page"] == f"/plans/{plan.public_id}"
    assert item["system_name"] == harbour.system.name
    assert "by editor" in item["detail"]
    assert datetime.fromisoformat(item["since"]) == row.waiting_since
    assert [name for name, person in people.items() if kinds(person)] == ["approver"]
    another = make_plan(harbour.system, people["editor"], [rate(None, 41.0)])
    approved(another, people["editor"], people["approver"])
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["waits"]) == ("plan_to_execute", True)
    assert kinds(people["approver"]) == []


def test_nobody_is_called_to_review_what_they_may_not(
    harbour: Harbour, people: dict[str, User]
) -> None:
    both = make_user("both", Role.EDITOR, Role.APPROVER)
    submitted(make_plan(harbour.system, both), both)
    assert kinds(both) == []
    assert kinds(people["approver"]) == ["plan_to_review"]


def test_whoever_has_approved_is_not_called_again(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    make_policy(harbour.system, approval_rules=[{"approvals": 2}])
    second = make_user("second", Role.APPROVER)
    approved(plan, people["editor"], people["approver"])
    assert kinds(people["approver"]) == []
    assert kinds(second) == ["plan_to_review"]


def test_a_plan_that_cannot_be_executed_yet_does_not_wait(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    make_policy(harbour.system, windows=ALWAYS_CLOSED)
    approved(plan, people["editor"], people["approver"])
    (item,) = inbox(people["operator"])
    assert (item["waits"], item["waits_since"]) == (False, None)
    assert "Freeze" in item["detail"]
    make_policy(harbour.system, windows=[])
    (later,) = inbox(people["operator"])
    assert later["waits"] is True
    assert later["id"] == item["id"]
    assert later["since"] == item["since"] < later["waits_since"]
    # Windows come and go; it began to wait once.
    make_policy(harbour.system, windows=ALWAYS_CLOSED)
    assert inbox(people["operator"])[0]["waits"] is False
    make_policy(harbour.system, windows=[])
    assert inbox(people["operator"])[0]["waits_since"] == later["waits_since"]


def test_a_plan_waits_for_its_change_elsewhere(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    connection = Connection.objects.create(name="ServiceNow", product="http")
    ConnectedSystem.objects.create(connection=connection, system=harbour.system)
    approved(plan, people["editor"], people["approver"])
    change = Change.objects.create(
        plan=plan, connection=connection, state=ChangeState.OPEN, record_id="1", number="CHG1"
    )
    (item,) = inbox(people["operator"])
    assert item["waits"] is False
    assert "CHG1 is not approved yet" in item["detail"]
    Change.objects.filter(pk=change.pk).update(approval="approved", looked_at=timezone.now())
    assert [one["waits"] for one in inbox(people["operator"])] == [True]


def test_a_plan_does_not_wait_while_another_is_carried_out(
    running: Execution, people: dict[str, User], harbour: Harbour
) -> None:
    other = make_plan(harbour.system, people["editor"], [rate(None, 41.0)], kind="placement")
    approved(other, people["editor"], people["approver"])
    (item,) = inbox(people["operator"])
    assert item["waits"] is False
    assert f"{running.subject_name} is being carried out" in item["detail"]


def test_a_rejected_plan_goes_back_to_its_author(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    submitted(plan, people["editor"])
    plan.refresh_from_db()
    plan_reject(plan=plan, actor=people["approver"], comment="Too low for the spring.")
    assert kinds(people["approver"]) == []
    (item,) = inbox(people["editor"])
    assert (item["kind"], item["waits"]) == ("plan_rejected", False)
    assert "approver: Too low for the spring." in item["detail"]
    make_plan(harbour.system, people["editor"], [rate(None, 41.0)])
    assert nobody_is_called(people)


def test_a_stale_plan_is_its_authors_until_a_later_one_replaces_it(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    other = make_user("other", Role.EDITOR)
    edit_model(harbour)
    plans_settle()
    (item,) = inbox(people["editor"])
    assert (item["kind"], item["waits"]) == ("plan_stale", False)
    assert "tides" in item["detail"]
    assert kinds(other) == []
    User.objects.filter(pk=people["editor"].pk).update(roles=["viewer"])
    assert kinds(User.objects.get(pk=people["editor"].pk)) == []
    User.objects.filter(pk=people["editor"].pk).update(roles=["editor"])
    make_plan(harbour.system, other, [rate(None, 41.0)])
    assert kinds(User.objects.get(pk=people["editor"].pk)) == []


def test_what_came_back_is_remembered_for_a_week(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    edit_model(harbour)
    plans_settle()
    assert kinds(people["editor"]) == ["plan_stale"]
    Plan.objects.update(updated_at=timezone.now() - timedelta(days=8))
    assert kinds(people["editor"]) == []


def test_a_plan_of_a_schedule_goes_back_to_whoever_set_that_up(
    people: dict[str, User], harbour: Harbour
) -> None:
    made = make_plan(harbour.system, automatic_account("schedules"))
    submitted(made, people["editor"])
    edit_model(harbour)
    plans_settle()
    assert kinds(people["editor"]) == ["plan_stale"]
    other = make_user("other", Role.EDITOR)
    Plan.objects.filter(pk=made.pk).update(answerable=other)
    assert kinds(people["editor"]) == []
    assert kinds(other) == ["plan_stale"]


# --- executions


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    return agents_come(harbour)


@pytest.fixture
def running(people: dict[str, User], harbour: Harbour, agents: dict[str, Agent]) -> Execution:
    """The first of two steps."""
    agents_look(harbour, agents, offered=30.0)
    plan = make_plan(harbour.system, people["editor"], [rate(None, 40.0)], [population(None, 5)])
    ready = approved(plan, people["editor"], people["approver"])
    return plan_execute(plan=ready, actor=people["operator"])


def pause(running: Execution, harbour: Harbour, agents: dict[str, Agent], actor: User) -> None:
    """Pause it, and let the step that is under way end."""
    execution_pause(execution=running, actor=actor)
    agents_look(harbour, agents)
    executions_tick()
    running.refresh_from_db()
    assert running.state == "paused"


def test_a_paused_execution_waits_for_an_operator(
    running: Execution, people: dict[str, User], harbour: Harbour, agents: dict[str, Agent]
) -> None:
    operator = people["operator"]
    assert kinds(operator) == []
    pause(running, harbour, agents, operator)
    (item,) = inbox(operator)
    assert (item["kind"], item["waits"]) == ("execution_paused", True)
    assert item["page"] == f"/plans/{running.subject_id}"
    assert kinds(people["approver"]) == []
    Execution.objects.update(updated_at=timezone.now() + timedelta(hours=1))
    assert inbox(operator)[0]["since"] == item["since"]
    execution_resume(execution=running, actor=operator)
    assert kinds(operator) == []


def test_an_execution_held_by_its_window_is_to_be_known(
    running: Execution, people: dict[str, User], harbour: Harbour, agents: dict[str, Agent]
) -> None:
    make_policy(harbour.system, windows=ALWAYS_CLOSED, pause_when_window_closes=True)
    for _ in range(2):
        windows_hold()
        agents_look(harbour, agents)
        executions_tick()
    running.refresh_from_db()
    assert (running.state, running.held) == ("paused", True)
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["waits"]) == ("execution_held", False)
    assert "Freeze" in item["detail"]


def test_a_failed_execution_is_known_until_the_next_one(
    running: Execution, people: dict[str, User], harbour: Harbour
) -> None:
    ended_at = timezone.now()
    Execution.objects.update(state="failed", failure="b refused it.", ended_at=ended_at)
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["waits"]) == ("execution_failed", False)
    assert "b refused it." in item["detail"]
    assert datetime.fromisoformat(item["since"]) == ended_at
    Execution.objects.update(ended_at=ended_at - timedelta(days=8))
    assert kinds(people["operator"]) == []
    Execution.objects.update(ended_at=ended_at)
    assert kinds(people["operator"]) == ["execution_failed"]
    Execution.objects.create(
        system=harbour.system,
        number=running.number + 1,
        subject_id=running.subject_id,
        subject_name="P-9",
        started_by_name="olga",
    )
    assert kinds(people["operator"]) == []


def test_what_was_carried_out_is_gone(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    ready = approved(plan, people["editor"], people["approver"])
    carried_out(harbour, agents, ready, people["operator"])
    assert nobody_is_called(people)


# --- agents and messages


def test_silent_agents_are_named_after_a_minute(harbour: Harbour, people: dict[str, User]) -> None:
    agents = agents_come(harbour, "a", "b", "c")
    assert kinds(people["operator"]) == []
    now = timezone.now()
    Agent.objects.filter(broker__name="a").update(lease_until=now - timedelta(seconds=30))
    assert kinds(people["operator"]) == []
    Agent.objects.filter(broker__name="a").update(lease_until=now - timedelta(seconds=61))
    (item,) = inbox(people["operator"])
    assert item["kind"] == "agent_silent"
    assert item["title"] == f"1 agent of {harbour.system.name} is silent"
    Agent.objects.filter(broker__name="b").update(lease_until=now - timedelta(seconds=61))
    for role in ("operator", "admin"):
        (more,) = inbox(people[role])
        assert more["title"].startswith("2 agents")
        assert "a and b" in more["detail"]
        assert more["since"] == item["since"]
        assert more["grew_at"] is not None
    assert kinds(people["viewer"]) == []
    a = agents["a"]
    agent_heard(agent=a, incarnation=a.incarnation, reports=[], observed={}, telemetry=None)
    (fewer,) = inbox(people["operator"])
    assert fewer["title"].startswith("1 agent ")
    assert fewer["grew_at"] == more["grew_at"]


def test_an_agent_with_another_credential_is_silent_once_it_should_have_come(
    harbour: Harbour, people: dict[str, User]
) -> None:
    agents_come(harbour, "a", "b")
    Agent.objects.update(last_report_at=timezone.now() - timedelta(days=90))
    agent_enrol(broker=harbour.brokers["a"], actor=None)
    assert kinds(people["operator"]) == []
    enrolled_at = timezone.now() - ALL_SILENT_FOR
    Agent.objects.filter(broker__name="a").update(enrolled_at=enrolled_at)
    (item,) = inbox(people["operator"])
    assert item["kind"] == "agent_silent"
    assert datetime.fromisoformat(item["since"]) == enrolled_at


def test_no_agent_counts_as_silent_because_weir_was_away() -> None:
    hearing, now = Hearing(), timezone.now()

    def after(seconds: float, *, hears: bool = True) -> timedelta | None:
        """How long ago a lease must have ended, when it is looked again after this time."""
        nonlocal now
        now += timedelta(seconds=seconds)
        hearing.look(now, hears=hears)
        before = hearing.silent_before(now)
        return None if before is None else now - before

    assert after(0) is None
    assert [after(10) for _ in range(9)] == [None] * 8 + [SILENT_FOR]
    # Nobody looked for a while.
    assert after(40) is None
    assert [after(10) for _ in range(9)] == [None] * 8 + [SILENT_FOR]
    # No agent at all is heard: perhaps nobody can be.
    assert after(10, hears=False) is None
    assert [after(10, hears=False) for _ in range(19)] == [None] * 19
    assert after(10, hears=False) == ALL_SILENT_FOR
    # They come back one after the other.
    assert after(10) == ALL_SILENT_FOR
    assert [after(10) for _ in range(9)][-1] == SILENT_FOR


def test_nothing_begins_or_ends_while_it_cannot_be_told(
    harbour: Harbour, people: dict[str, User], hearing: Hearing
) -> None:
    agents_come(harbour, "a", "b")
    lease_until = timezone.now() - timedelta(seconds=61)
    Agent.objects.filter(broker__name="a").update(lease_until=lease_until)
    assert kinds(people["operator"]) == ["agent_silent"]
    hearing._last = timezone.now() - timedelta(minutes=2)
    Agent.objects.filter(broker__name="b").update(lease_until=lease_until)
    (item,) = inbox(people["operator"])
    assert item["title"].startswith("1 agent ")


def test_a_restored_database_waits_for_an_operator(
    harbour: Harbour, people: dict[str, User]
) -> None:
    agents_come(harbour, "a")
    Agent.objects.update(obeyed_number=9, served_number=3)
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["waits"]) == ("database_restored", True)
    assert item["page"] == f"/systems/{harbour.system.public_id}"
    Agent.objects.update(served_number=9)
    assert kinds(people["operator"]) == []


def lost(harbour: Harbour, flow: str, at: datetime, reason: str = "link_full") -> None:
    Loss.objects.create(
        broker=harbour.brokers["b"], flow=flow, reason=reason, count=7, first_at=at, last_at=at
    )


def test_lost_messages_are_known_for_a_day(harbour: Harbour, people: dict[str, User]) -> None:
    now = timezone.now()
    lost(harbour, "gulls", now, "ingress_full")
    assert kinds(people["operator"]) == []
    lost(harbour, "tides", now - timedelta(hours=3))
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["waits"], item["grew_at"]) == ("messages_lost", False, None)
    assert item["detail"].startswith("Of tides at b: best-effort, and too many waited at the end")
    lost(harbour, "", now - timedelta(hours=3))
    (more,) = inbox(people["operator"])
    assert "an unknown flow and tides at b" in more["detail"]
    assert more["grew_at"] is not None
    Loss.objects.update(last_at=now - LOST_WITHIN)
    assert kinds(people["operator"]) == []


def test_a_loss_that_goes_on_grows_only_after_a_pause(
    harbour: Harbour, people: dict[str, User]
) -> None:
    now = timezone.now()
    lost(harbour, "tides", now - timedelta(hours=20))
    (item,) = inbox(people["operator"])
    for minutes in range(50, 301, 50):
        Loss.objects.update(last_at=now - timedelta(hours=20) + timedelta(minutes=minutes))
        assert inbox(people["operator"]) == [item]
    Loss.objects.update(last_at=now)
    (later,) = inbox(people["operator"])
    assert later["grew_at"] is not None
    assert {**later, "grew_at": None} == item


def test_a_backlog_that_fills_up_is_known_for_as_long_as_it_grows(
    harbour: Harbour, people: dict[str, User]
) -> None:
    waits(harbour.brokers["a"], most_messages=20_000)
    backlog_items_keep()
    (item,) = inbox(people["operator"])
    assert (item["kind"], item["about"]) == ("backlog", str(harbour.topic.public_id))
    assert item["title"] == "tides fills up at a"
    # It grows on, and no limit is near.
    Sample.objects.all().delete()
    waits(harbour.brokers["a"], most_messages=20_000_000)
    backlog_items_keep()
    assert [one["id"] for one in inbox(people["operator"])] == [item["id"]]
    Sample.objects.all().delete()
    waits(harbour.brokers["a"], [287] * 12, most_messages=20_000)
    backlog_items_keep()
    assert kinds(people["operator"]) == []
    # It grows, and no limit is near: no alarm begins by that.
    Sample.objects.all().delete()
    waits(harbour.brokers["a"], most_messages=20_000_000)
    backlog_items_keep()
    assert kinds(people["operator"]) == []
    # It is an alarm again soon after: the same one. Where its agent began anew, nobody knows yet.
    for counts in (RISE, RISE[:2]):
        Sample.objects.all().delete()
        waits(harbour.brokers["a"], counts, most_messages=20_000)
        backlog_items_keep()
        assert [one["id"] for one in inbox(people["operator"])] == [item["id"]]
    Item.objects.update(ended_at=timezone.now() - COMES_BACK[ItemKind.BACKLOG])
    Sample.objects.all().delete()
    waits(harbour.brokers["a"], most_messages=20_000)
    backlog_items_keep()
    (new,) = inbox(people["operator"])
    assert new["id"] != item["id"]


# --- other systems


def test_administrators_hear_of_connections_that_do_not_answer_again_and_again(
    people: dict[str, User],
) -> None:
    row = Connection.objects.create(
        name="ServiceNow", product="http", problem="No answer.", retry_at=timezone.now(), failures=2
    )
    assert kinds(people["admin"]) == []
    Connection.objects.update(failures=3)
    (item,) = inbox(people["admin"])
    assert (item["kind"], item["page"]) == ("connection_failing", f"/connections/{row.public_id}")
    assert (item["title"], item["detail"]) == ("ServiceNow does not answer", "No answer.")
    assert kinds(people["operator"]) == []
    Connection.objects.update(enabled=False)
    assert kinds(people["admin"]) == []


def test_administrators_hear_of_changes_that_are_refused(
    plan: Plan, people: dict[str, User]
) -> None:
    row = Connection.objects.create(name="ServiceNow", product="http")
    change = Change.objects.create(plan=plan, connection=row)
    message = Message.objects.create(change=change, kind="open")
    assert kinds(people["admin"]) == []
    Message.objects.filter(pk=message.pk).update(refused=True, problem="It may not set cmdb_ci.")
    (item,) = inbox(people["admin"])
    assert (item["kind"], item["detail"]) == ("changes_refused", "It may not set cmdb_ci.")
    assert item["title"] == "1 change at ServiceNow needs a correction"
    # It does not answer for a while, then refuses again: that is the same.
    Message.objects.update(refused=False, attempts=2, problem="No answer.")
    assert kinds(people["admin"]) == []
    Message.objects.update(refused=True)
    assert [one["id"] for one in inbox(people["admin"])] == [item["id"]]
    Message.objects.update(refused=False, attempts=3)
    assert [one["id"] for one in inbox(people["admin"])] == [item["id"]]
    Message.objects.update(sent_at=timezone.now())
    assert kinds(people["admin"]) == []
    Change.objects.update(look_failures=3, problem="It may not read it.")
    (item,) = inbox(people["admin"])
    assert item["detail"] == "It may not read it."
    Change.objects.update(state="closed", ending="cancelled")
    assert kinds(people["admin"]) == []


@pytest.mark.parametrize(
    ("values", "title"),
    [
        ({"failures": 3, "problem": "It answers 500."}, "Tickets does not take events"),
        ({"problem": OTHER_KEY}, "Tickets does not take events"),
        (
            {
                "enabled": False,
                "failing_since": datetime.fromisoformat("2026-03-01T00:00:00Z"),
                "disabled_because": "It took nothing for five days.",
            },
            "Tickets is off",
        ),
    ],
)
def test_administrators_hear_of_receivers_that_take_nothing(
    people: dict[str, User], values: dict[str, Any], title: str
) -> None:
    Webhook.objects.create(name="Tickets", address="https://a.test/", fingerprint="0", **values)
    (item,) = inbox(people["admin"])
    assert (item["kind"], item["title"]) == ("webhook_failing", title)
    assert item["detail"] == values.get("disabled_because", values.get("problem"))
    assert kinds(people["operator"]) == []
    Webhook.objects.update(enabled=False, failing_since=None)
    assert kinds(people["admin"]) == []


# --- objectives


def test_operators_are_called_to_objectives_while_they_burn(
    people: dict[str, User], harbour: Harbour
) -> None:
    slo = entity_create(
        model=Slo,
        system=harbour.system,
        actor=None,
        values={
            "name": "orders in time",
            "topic": make_topic(harbour.system, "orders"),
            "quantity": "delay_p99_s",
            "target": 0.1,
        },
    )
    term = ObjectiveTerm(
        slo=slo, topic="orders", quantity="delay_p99_s", target=0.1, objective=0.99, since_s=0
    )
    term.window_s = slo.window_s
    term.save()
    assert nobody_is_called(people)
    for alert, kind, is_urgent in (
        ("page", "slo_burns_fast", True),
        ("ticket", "slo_burns", False),
    ):
        ObjectiveTerm.objects.update(alert=alert)
        (item,) = inbox(people["operator"])
        assert (item["kind"], item["waits"]) == (kind, is_urgent)
        assert item["about"] == str(slo.public_id)
        assert item["title"].startswith("orders in time of orders burns its budget")
        assert item["page"] == (
            f"/systems/{harbour.system.public_id}/service-levels?open={slo.public_id}"
        )
    assert [name for name, person in people.items() if kinds(person)] == ["operator"]
    ObjectiveTerm.objects.update(spent_s=60)
    assert sorted(kinds(people["operator"])) == ["budget_spent", "slo_burns"]
    # Between two times that it burns fast, it is one item that it burns at all.
    first = Item.objects.get(kind="slo_burns").pk
    for alert in ("page", "ticket"):
        ObjectiveTerm.objects.update(alert=alert)
        kinds(people["operator"])
    assert Item.objects.get(kind="slo_burns", ended_at=None).pk == first
    ObjectiveTerm.objects.update(alert="", spent_s=None)
    assert nobody_is_called(people)
    assert not Item.objects.filter(ended_at=None).exists()


# --- the whole


def test_every_kind_calls_somebody_and_is_worked_out_by_one_source() -> None:
    sources = list(keep.sources())
    kinds_of = [*(source.kinds for source in sources), keep.BACKLOGS]
    assert set().union(*kinds_of) == set(ItemKind) == set(AUDIENCE)
    assert sum(map(len, kinds_of)) == len(ItemKind)
    assert len({source.name for source in sources}) == len(sources)
    assert all(len(source.name) == 4 for source in sources)


def test_what_waits_longest_is_first_and_then_the_newest_to_know(
    people: dict[str, User],
) -> None:
    for number in (2, 0, 1):
        system = make_harbour(f"harbour {number}").system
        row = submitted(make_plan(system, people["editor"]), people["editor"])
        began = timezone.now() - timedelta(hours=number)
        Plan.objects.filter(pk=row.pk).update(waiting_since=began)
    judges = make_user("judges", Role.APPROVER, Role.ADMIN)
    for number in (2, 0, 1):
        Webhook.objects.create(
            name=f"W {number}",
            address="https://a.test/",
            fingerprint="0",
            failures=3,
            failing_since=timezone.now() - timedelta(hours=number),
        )
    items = inbox(judges)
    assert [item["system_name"] for item in items] == [
        *("harbour 2", "harbour 1", "harbour 0"),
        *[""] * 3,
    ]
    assert [item["title"][:3] for item in items[3:]] == ["W 0", "W 1", "W 2"]


def test_an_item_that_comes_back_is_another_after_a_while_and_old_ones_are_dropped(
    harbour: Harbour, people: dict[str, User]
) -> None:
    agents_come(harbour, "a", "b")
    agent = Agent.objects.filter(broker__name="a")
    lease_until = agent.get().lease_until
    ids = []
    for ended_ago in (timedelta(minutes=9), timedelta(minutes=11), timedelta()):
        agent.update(lease_until=timezone.now() - timedelta(seconds=61))
        ids += [item["id"] for item in inbox(people["operator"])]
        agent.update(lease_until=lease_until)
        assert kinds(people["operator"]) == []
        Item.objects.update(ended_at=timezone.now() - ended_ago)
    assert ids[0] == ids[1] != ids[2]
    old, _ = Item.objects.order_by("id")
    Item.objects.filter(pk=old.pk).update(ended_at=timezone.now() - KEPT)
    backlog_items_keep()
    assert [str(row.public_id) for row in Item.objects.all()] == ids[2:]


def test_items_of_a_system_that_is_deleted_end(people: dict[str, User]) -> None:
    system = make_system("harbour")
    Item.objects.create(
        kind=ItemKind.MESSAGES_LOST,
        about=str(system.public_id),
        system=system,
        title="harbour lost messages",
        waits=False,
        since=timezone.now(),
    )
    system_delete(system=system, actor=people["admin"], expected_version=system.version)
    row = client_of(people["operator"]).get("/api/v1/inbox").json()["results"][0]
    assert (row["system"], row["system_name"]) == (None, "")
    assert kinds(people["operator"]) == []


def test_pages_hear_that_something_changed(
    plan: Plan,
    people: dict[str, User],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(keep, "publish", heard.append)
    items_keep()
    assert heard == []
    submitted(plan, people["editor"])
    items_keep()
    items_keep()
    assert heard == ["inbox"]


def test_nothing_is_written_while_nothing_changes(plan: Plan, people: dict[str, User]) -> None:
    submitted(plan, people["editor"])
    assert items_keep() == 1
    assert items_keep() == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, OperationalError])
def test_what_cannot_be_worked_out_keeps_nothing_else_from_it(
    plan: Plan,
    people: dict[str, User],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
) -> None:
    submitted(plan, people["editor"])
    assert kinds(people["approver"]) == ["plan_to_review"]
    logged: list[object] = []
    monkeypatch.setattr(keep.logger, "exception", lambda *args: logged.append(args))

    def fail(*_: object) -> None:
        raise error("a deadlock")

    monkeypatch.setattr("apps.inbox.selectors.plans.rulings", fail)
    Connection.objects.create(
        name="ServiceNow", product="http", problem="No answer.", retry_at=timezone.now(), failures=3
    )
    if error is OperationalError:
        with pytest.raises(OperationalError):
            items_keep()
    else:
        items_keep()
        assert len(logged) == 1
    standing = set(Item.objects.filter(ended_at=None).values_list("kind", flat=True))
    assert standing == {"connection_failing", "plan_to_review"}


def queries_of(person: User) -> tuple[int, int]:
    """How many statements it takes to work everything out, and to read it."""
    items_keep()
    with CaptureQueriesContext(database) as worked:
        items_keep()
    with CaptureQueriesContext(database) as read:
        client_of(person).get("/api/v1/inbox")
    return len(worked), len(read)


def test_it_costs_no_more_for_more_of_everything(people: dict[str, User]) -> None:
    def grow(number: int) -> None:
        harbour = make_harbour(f"harbour {number}")
        system = harbour.system
        submitted(make_plan(system, people["editor"]), people["editor"])
        other = make_plan(system, people["editor"], kind="placement")
        approved(other, people["editor"], people["approver"])
        agents_come(harbour, "a", "b")
        lease_until = timezone.now() - timedelta(seconds=61)
        Agent.objects.filter(broker=harbour.brokers["a"]).update(lease_until=lease_until)
        lost(harbour, "tides", timezone.now())
        connection = Connection.objects.create(name=f"ServiceNow {number}", product="http")
        ConnectedSystem.objects.create(connection=connection, system=system)
        change = Change.objects.create(
            plan=other, connection=connection, state=ChangeState.OPEN, record_id="1", number="CHG1"
        )
        Message.objects.create(change=change, kind="comment", refused=True, problem="No.")

    everything = make_user("everything", Role.APPROVER, Role.OPERATOR, Role.ADMIN)
    grow(0)
    few = queries_of(everything)
    one = sorted(kinds(everything))
    assert len(one) == 5
    for number in range(1, 4):
        grow(number)
    assert queries_of(everything) == few
    assert sorted(kinds(everything)) == sorted(one * 4)


def test_a_change_that_is_not_opened_yet_reads_no_document(
    plan: Plan, people: dict[str, User], harbour: Harbour
) -> None:
    connection = Connection.objects.create(name="ServiceNow", product="http")
    ConnectedSystem.objects.create(connection=connection, system=harbour.system)
    approved(plan, people["editor"], people["approver"])
    (item,) = inbox(people["operator"])
    assert "is not opened yet" in item["detail"]
    Change.objects.create(plan=plan, connection=connection)
    with CaptureQueriesContext(database) as queries:
        (item,) = inbox(people["operator"])
    assert f"The change of {plan} is not opened yet" in item["detail"]
    assert item["waits"] is False
    assert not [one for one in queries if '"document"' in one["sql"]]


def test_a_token_sees_what_its_roles_allow(plan: Plan, people: dict[str, User]) -> None:
    submitted(plan, people["editor"])
    owner = make_user("owner", Role.APPROVER, Role.VIEWER)
    assert kinds(owner) == ["plan_to_review"]
    for roles, called in (([Role.VIEWER], []), ([Role.APPROVER], ["plan_to_review"])):
        _, secret = token_create(owner=owner, name=str(roles), roles=roles)
        headers = {"authorization": f"Bearer {secret}"}
        rows = client_of(None).get("/api/v1/inbox", headers=headers).json()["results"]
        assert [row["kind"] for row in rows] == called


def test_names_are_listed_as_sentences_do() -> None:
    assert named(["a"]) == "a"
    assert named(["a", "b"]) == "a and b"
    assert named("abcd") == "a, b, c and d"
    assert named("abcde") == "a, b, c and 2 others"
