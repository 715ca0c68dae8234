"""Systems that change connections, plans that were quicker than their change, executions that are
resumed and rolled back."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.executions.models import Execution
from apps.executions.services import (
    execution_pause,
    execution_resume,
    execution_roll_back,
    execution_stop,
    executions_tick,
)
from apps.integrations.models import Change, ConnectedSystem, Connection, Message
from apps.integrations.selectors.gate import change_check
from apps.integrations.services import changes_follow, connection_create, connection_update
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_withdraw, plans_settle
from apps.systems.services import system_delete
from apps.telemetry.models import Agent
from tests.apps.integrations.conftest import SECRET, tick
from tests.apps.integrations.faulty_server import served
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories import make_user
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    make_plan,
    submitted,
)


@pytest.fixture
def other() -> FakeServiceNow:
    return FakeServiceNow(f"weir:{SECRET}")


@pytest.fixture
def other_address(other: FakeServiceNow) -> Iterator[str]:
    with served(other) as address:
        yield address


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    return agents


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    """Two steps: the tides are limited, then five gulls let in."""
    return make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])


def elsewhere(harbour: Harbour, address: str, connection: Connection, **values: Any) -> Connection:
    """The harbour is taken to another connection."""
    update(connection, systems=[])
    return connection_create(
        actor=mo(),
        values={
            "name": "Other",
            "product": "servicenow",
            "credential": "env:WEIR_CREDENTIAL_SERVICENOW",
            "settings": {"address": address},
            "systems": [harbour.system],
            **values,
        },
    )


def update(connection: Connection, **values: Any) -> Connection:
    connection.refresh_from_db()
    return connection_update(
        connection=connection,
        actor=mo(),
        expected_version=connection.version,
        values=values,
    )


def mo() -> User:
    """Who manages connections."""
    return User.objects.filter(username="mo").first() or make_user("mo")


def detail(plan: Plan) -> tuple[str, str]:
    plan.refresh_from_db()
    check = change_check(plan, timezone.now())
    assert check is not None
    return check.state, check.detail


def test_approval_at_a_former_connection_counts_no_more(
    connection: Connection,
    servicenow: FakeServiceNow,
    other: FakeServiceNow,
    other_address: str,
    harbour: Harbour,
    plan: Plan,
    ines: User,
    jon: User,
) -> None:
    approved(plan, ines, jon)
    tick(connection)
    servicenow.approve()
    tick(connection)
    assert detail(plan)[0] == "pass"
    new = elsewhere(harbour, other_address, connection)
    assert detail(plan) == ("fail", "The change of P-1 in Other is not opened yet.")
    servicenow.away = True
    tick(new)
    former, present = plan.changes.order_by("id")
    assert (former.state, former.ending, former.connection_id) == (
        *("ending", "cancelled", connection.pk),
    )
    assert (present.state, present.connection_id) == ("open", new.pk)
    assert detail(plan)[1].startswith(f"Change {present.number} is not approved yet")
    servicenow.away = False
    tick(connection)
    assert servicenow.only()["state"] == "4"
    assert servicenow.only_notes()[-1].startswith("harbour opens its changes elsewhere now.")
    assert plan.events.get(command="change_moved").note == (
        "harbour is not connected to ServiceNow any more; it opens its change in Other now."
    )
    other.approve()
    tick(new)
    assert detail(plan)[0] == "pass"
    assert Change.objects.count() == 2


def test_change_of_a_system_that_is_connected_nowhere_is_cancelled(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    update(connection, systems=[])
    tick(connection)
    tick(connection)
    assert servicenow.only()["state"] == "4"
    assert plan.changes.get().state == "closed"


def test_connection_that_is_disabled_keeps_its_changes(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    update(connection, enabled=False)
    changes_follow()
    assert plan.changes.get().state == "open"


def test_plan_that_is_sent_again_opens_its_change_while_the_former_cannot_be_closed(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    first = servicenow.only()
    real = servicenow._update
    servicenow._update = lambda row, body: (  # type: ignore[method-assign]
        servicenow._pairs(row) if row is first else real(row, body)
    )
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    submitted(plan, ines)
    tick(connection)
    assert [change.state for change in plan.changes.order_by("id")] == ["ending", "open"]


@pytest.mark.parametrize(
    ("suffix", "taken"), [("/api", True), ("", True), (":1", False), ("other", False)]
)
def test_address_leads_to_the_same_server_while_changes_are_not_closed(
    connection: Connection,
    address: str,
    plan: Plan,
    ines: User,
    suffix: str,
    taken: bool,
) -> None:
    submitted(plan, ines)
    tick(connection)
    changed = {"/api": f"{address}/api", "": address.upper().replace("HTTP", "http")}.get(
        suffix,
        "http://127.0.0.1:1" if suffix == ":1" else address.replace("127.0.0.1", "127.0.0.2"),
    )
    settings = {**connection.settings, "address": changed}
    if taken:
        assert update(connection, settings=settings).settings["address"] == changed
        return
    with pytest.raises(Conflict) as caught:
        update(connection, settings=settings)
    assert caught.value.code == "still_in_use"
    assert "1 change is not closed at 127.0.0.1" in str(caught.value)
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    assert update(connection, settings=settings).settings["address"] == changed


def test_wrong_address_is_refused_at_its_field_as_before(
    connection: Connection, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    with pytest.raises(ApplicationError):
        update(connection, settings={"address": "ftp://x"})
    with pytest.raises(ApplicationError):
        update(connection, settings={})


def test_system_whose_changes_are_not_closed_is_not_deleted(
    connection: Connection, servicenow: FakeServiceNow, harbour: Harbour, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    servicenow.away = True
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)

    def delete() -> None:
        harbour.system.refresh_from_db()
        system_delete(system=harbour.system, actor=ines, expected_version=harbour.system.version)

    with pytest.raises(Conflict) as caught:
        delete()
    assert caught.value.code == "still_in_use"
    assert str(caught.value).startswith("1 change of its plans in ServiceNow is not closed.")
    servicenow.away = False
    tick(connection)
    delete()
    assert servicenow.only()["state"] == "4"


def test_system_of_a_connection_that_is_disabled_is_deleted(
    connection: Connection, harbour: Harbour, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    plan_withdraw(plan=plan, actor=ines)
    changes_follow()
    update(connection, enabled=False)
    harbour.system.refresh_from_db()
    system_delete(system=harbour.system, actor=ines, expected_version=harbour.system.version)
    assert not Change.objects.exists()


# --- plans that were quicker than their change


@pytest.fixture
def unasked(connection: Connection) -> Connection:
    """Nobody waits for its changes, which are approved with their template."""
    settings = {**connection.settings, "kind": "standard", "template": "a" * 32}
    return update(connection, settings=settings, approval_needed=False)


def carried_out(harbour: Harbour, agents: dict[str, Agent], execution: Execution) -> None:
    for _ in range(12):
        agents_look(harbour, agents)
        executions_tick()
    plans_settle()
    execution.refresh_from_db()


def test_plan_executed_before_it_was_followed_still_gets_its_change(
    unasked: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    approved(plan, ines, jon)
    execution = plan_execute(plan=plan, actor=olga)
    execution_stop(execution=execution, actor=olga)
    carried_out(harbour, agents, execution)
    for _ in range(3):
        tick(unasked)
    row = servicenow.only()
    assert servicenow.history[row["sys_id"]] == [
        *("New", "Scheduled", "Implement", "Review", "Closed")
    ]
    assert servicenow.only_notes()[0].startswith("olga started E-1 of P-1.")
    assert plan.changes.get().state == "closed"
    tick(unasked)
    assert len(servicenow.rows) == 1


@pytest.mark.parametrize("since", ["connected", "enabled"])
def test_plan_executed_before_its_system_was_connected_opens_none(
    unasked: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
    since: str,
) -> None:
    off: dict[str, Any] = {"systems": []} if since == "connected" else {"enabled": False}
    on: dict[str, Any] = (
        {"systems": [harbour.system]} if since == "connected" else {"enabled": True}
    )
    update(unasked, **off)
    plan_execute(plan=approved(plan, ines, jon), actor=olga)
    update(unasked, **on)
    tick(unasked)
    assert not Change.objects.exists()


def test_plan_taken_back_before_it_was_followed_opens_none(
    connection: Connection, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    plan_withdraw(plan=plan, actor=ines)
    changes_follow()
    assert not Change.objects.exists()


def test_change_that_nothing_waits_for_allows_and_says_so(
    unasked: Connection, plan: Plan, ines: User, api: APIClient
) -> None:
    submitted(plan, ines)
    shown = api.get(f"/api/v1/plans/{plan.public_id}/change").json()
    assert (shown["allows"], shown["because"]) == (True, "")
    tick(unasked)
    shown = api.get(f"/api/v1/plans/{plan.public_id}/change").json()
    assert (shown["allows"], shown["because"]) == (True, "")
    assert shown["change"]["is_approval_needed"] is False


def test_endpoint_that_is_only_written_to_is_not_shown_as_read_or_answering(
    allowed: None,
    servicenow: FakeServiceNow,
    address: str,
    harbour: Harbour,
    plan: Plan,
    ines: User,
) -> None:
    connection = connection_create(
        actor=mo(),
        values={
            "name": "Told",
            "product": "http",
            "approval_needed": False,
            "settings": {
                "address": address,
                "authentication": "none",
                "open_path": "/api/sn_chg_rest/change",
                "open_body": {"text": "{title}"},
            },
            "systems": [harbour.system],
        },
    )
    servicenow.answer = lambda *_: (200, {})  # type: ignore[method-assign]
    submitted(plan, ines)
    tick(connection)
    change = plan.changes.get()
    assert (change.state, change.looked_at, change.problem) == ("open", None, "")
    connection.refresh_from_db()
    answered_at = connection.answered_at
    assert answered_at is not None
    for _ in range(2):
        tick(connection)
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    connection.refresh_from_db()
    assert connection.answered_at == answered_at
    assert plan.changes.get().state == "closed"


# --- executions that are paused, resumed and rolled back


@pytest.fixture
def begun(
    connection: Connection,
    servicenow: FakeServiceNow,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
) -> Execution:
    """Under way, by an approved change."""
    approved(plan, ines, jon)
    tick(connection)
    servicenow.approve()
    tick(connection)
    execution = plan_execute(plan=plan, actor=olga)
    tick(connection)
    return execution


def paused(harbour: Harbour, agents: dict[str, Agent], execution: Execution, by: User) -> None:
    execution_pause(execution=execution, actor=by)
    for _ in range(3):
        agents_look(harbour, agents)
        executions_tick()
    execution.refresh_from_db()
    assert execution.state == "paused"


def notes(servicenow: FakeServiceNow) -> list[str]:
    return [note.split("\n[weir ")[0] for note in servicenow.only_notes()]


def test_paused_execution_goes_on_only_while_its_change_allows(
    connection: Connection,
    servicenow: FakeServiceNow,
    begun: Execution,
    agents: dict[str, Agent],
    harbour: Harbour,
    olga: User,
) -> None:
    paused(harbour, agents, begun, olga)
    tick(connection)
    assert "E-1 is paused." in notes(servicenow)
    servicenow.only().update(approval="rejected", state="-5")
    tick(connection)
    with pytest.raises(Conflict) as caught:
        execution_resume(execution=begun, actor=olga)
    assert caught.value.code == "change_not_approved"
    assert str(caught.value) == "Change CHG0030052 was not approved (state New)."
    servicenow.only().update(approval="approved", state="-1")
    tick(connection)
    execution_resume(execution=begun, actor=olga)
    tick(connection)
    assert notes(servicenow)[-1] == "E-1 goes on."


def test_execution_begun_without_a_change_resumes_without_one(
    begun: Execution, agents: dict[str, Agent], harbour: Harbour, olga: User
) -> None:
    paused(harbour, agents, begun, olga)
    Change.objects.all().delete()
    assert execution_resume(execution=begun, actor=olga).state == "running"


def test_execution_resumes_by_the_change_it_was_begun_under(
    connection: Connection,
    servicenow: FakeServiceNow,
    other_address: str,
    begun: Execution,
    agents: dict[str, Agent],
    harbour: Harbour,
    olga: User,
) -> None:
    paused(harbour, agents, begun, olga)
    elsewhere(harbour, other_address, connection)
    tick(connection)
    assert Change.objects.count() == 1
    assert execution_resume(execution=begun, actor=olga).state == "running"


def test_approval_that_was_not_read_since_the_pause_does_not_let_it_go_on(
    connection: Connection,
    begun: Execution,
    agents: dict[str, Agent],
    harbour: Harbour,
    olga: User,
) -> None:
    Change.objects.update(looked_at=timezone.now() - timedelta(minutes=6))
    paused(harbour, agents, begun, olga)
    with pytest.raises(Conflict, match="has not been read for long"):
        execution_resume(execution=begun, actor=olga)
    tick(connection)
    assert execution_resume(execution=begun, actor=olga).state == "running"


@pytest.mark.parametrize("before_it_ended", [True, False])
def test_roll_back_before_the_change_is_closed_is_commented_and_decides_its_end(
    connection: Connection,
    servicenow: FakeServiceNow,
    begun: Execution,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    olga: User,
    before_it_ended: bool,
) -> None:
    execution_stop(execution=begun, actor=olga)
    carried_out(harbour, agents, begun)
    assert begun.state == "stopped"
    if not before_it_ended:
        changes_follow()
        assert plan.changes.get().state == "ending"
    execution_roll_back(execution=begun, actor=olga)
    begun.refresh_from_db()
    if begun.state == "rolling_back":
        tick(connection)
        assert plan.changes.get().state == "open"
        assert "E-1 is being rolled back." in notes(servicenow)
    carried_out(harbour, agents, begun)
    assert begun.state == "rolled_back"
    tick(connection)
    row = servicenow.only()
    assert row["state"] == "3"
    assert row["close_notes"].startswith("P-1 was rolled back (E-1).")
    assert any("back: done" in note for note in notes(servicenow))
    assert not Message.objects.filter(sent_at=None).exists()


def test_connected_system_says_since_when(connection: Connection) -> None:
    before = ConnectedSystem.objects.get().since
    update(connection, name="Renamed")
    assert ConnectedSystem.objects.get().since == before
    update(connection, enabled=False)
    update(connection, enabled=True)
    assert ConnectedSystem.objects.get().since > before
