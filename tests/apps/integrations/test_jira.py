"""The whole life of a plan in Jira, as a request and as an issue, on Cloud and Data Center."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.executions.services import execution_stop, executions_tick
from apps.integrations.connectors.jira import connect as jira_at
from apps.integrations.connectors.jira import texts
from apps.integrations.connectors.jira.settings import JiraSettings
from apps.integrations.domain.contract import (
    ChangeText,
    Connector,
    Ending,
    ExchangeError,
    Refused,
)
from apps.integrations.models import Connection, Message, MessageKind
from apps.integrations.services import changes_follow, connection_test
from apps.integrations.services.http_session import HttpSession
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_reject, plan_withdraw, plans_settle
from apps.telemetry.models import Agent
from tests.apps.integrations.conftest import connect, tick
from tests.apps.integrations.faulty_server import Fault, served
from tests.apps.integrations.jira_server import PUBLIC, FakeJira, words_of
from tests.apps.integrations.test_life import judged, refused, work_through
from tests.apps.integrations.test_outbox import any_fault
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import agents_come, agents_look, approved, make_plan, submitted
from tests.suites import effort

STATES = {
    **{"approved_states": "Approved", "refused_states": "Declined"},
    **{"begin_state": "Implementing", "succeeded_state": "completed"},
    **{"failed_state": "Failed", "cancelled_state": "Canceled"},
}
KINDS: dict[str, dict[str, str]] = {
    "service_request": {"service_desk": "7", "request_type": "12"},
    "issue": {"project": "OPS", "issue_type": "Change"},
}


# Cloud and Data Center differ in addresses and documents, requests and issues in what they are:
# two of the four show each of these.
INSTALLATIONS = effort(
    (("cloud", "service_request"), ("data_center", "issue")),
    tuple((edition, kind) for edition in ("cloud", "data_center") for kind in KINDS),
)


@pytest.fixture(params=INSTALLATIONS, ids="-".join)
def installation(request: pytest.FixtureRequest) -> tuple[str, str]:
    """An edition of Jira, and what its changes are there."""
    edition, kind = request.param
    return edition, kind


@pytest.fixture
def edition(installation: tuple[str, str]) -> str:
    return installation[0]


@pytest.fixture
def kind(request: pytest.FixtureRequest, installation: tuple[str, str]) -> str:
    return str(getattr(request, "param", installation[1]))


@pytest.fixture
def jira(edition: str) -> FakeJira:
    return FakeJira(edition)


@pytest.fixture
def at(jira: FakeJira) -> Iterator[str]:
    with served(jira) as address:
        yield address


@pytest.fixture
def connection(
    allowed: None,
    at: str,
    harbour: Harbour,
    monkeypatch: pytest.MonkeyPatch,
    edition: str,
    kind: str,
) -> Connection:
    is_cloud = edition == "cloud"
    secret = "weir@example.org:tok-123456" if is_cloud else "tok-123456"
    monkeypatch.setenv("WEIR_CREDENTIAL_JIRA", secret)
    settings = {
        "authentication": "basic" if is_cloud else "bearer",
        **{"edition": edition, "kind": kind, **KINDS[kind], **STATES},
    }
    return connect(
        at,
        harbour,
        name="Jira",
        product="jira",
        credential="env:WEIR_CREDENTIAL_JIRA",
        settings=settings,
    )


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents, offered=30.0)
    return agents


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    return make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])


def connector_of(connection: Connection) -> Connector:
    """What a worker would ask."""
    values = JiraSettings(**connection.settings)
    secret, kept = os.environ["WEIR_CREDENTIAL_JIRA"], list[Any]()
    return jira_at(values, HttpSession(settings=values, credential=secret, keep=kept.append))


def posts(jira: FakeJira) -> list[str]:
    """The addresses at which a change was made."""
    made = ("/rest/servicedeskapi/request", "/rest/api/3/issue", "/rest/api/2/issue")
    return [path for method, path, _ in jira.requests if method == "POST" and path in made]


def test_plan_opens_waits_is_carried_out_and_closed(
    connection: Connection,
    jira: FakeJira,
    at: str,
    kind: str,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    tick(connection)
    assert jira.rows == {}
    approved(plan, ines, jon)
    tick(connection)
    row, change = jira.only(), plan.changes.get()
    assert row["fields"]["summary"] == "P-1 Spring tide (harbour)"
    description = words_of(row["fields"]["description"])
    for part in ("tides at a: no limit -> 40 msg/s", "Broker c is full.", "Step 2 of 2:"):
        assert part in description
    assert texts.marker(change.key) in description
    if kind == "issue":
        assert row["fields"]["labels"] == [f"weir-{change.key}"]
        assert (change.number, change.link) == ("OPS-1", f"{at}/browse/OPS-1")
    else:
        jira.ask()
        assert (change.number, change.link) == (
            *("SD-1", f"{PUBLIC}/servicedesk/customer/portal/7/SD-1"),
        )
    tick(connection)
    message = f"Change {change.number} is not approved yet (state Awaiting approval)."
    assert refused(plan, olga).message == message
    jira.approve()
    tick(connection)
    assert plan.events.last().title == f"change {change.number} was approved"  # type: ignore[union-attr]
    execution = plan_execute(plan=plan, actor=olga)
    tick(connection)
    assert row["state"] == "Implementing"
    work_through(harbour, agents, execution)
    judged(plan)
    tick(connection)
    assert row["history"] == ["Awaiting approval", "Approved", "Implementing", "Completed"]
    started, steps, end = jira.comments()
    assert started.startswith("olga started E-1 of P-1.")
    assert steps.startswith("Step 1 of 2: done")
    assert end.startswith("P-1 was carried out (E-1).\nEffect: helped. ")
    assert {comment["jsdPublic"] for comment in row["comments"]} == {kind == "issue"}
    change.refresh_from_db()
    assert (change.state, change.ending) == ("closed", "succeeded")
    tick(connection)
    assert len(jira.rows) == 1


@pytest.mark.parametrize("way", ["withdraw", "reject"])
def test_plan_that_is_given_up_cancels_its_change(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User, jon: User, way: str
) -> None:
    submitted(plan, ines)
    tick(connection)
    if way == "withdraw":
        plan_withdraw(plan=plan, actor=ines, reason="Not this week.")
    else:
        plan_reject(plan=plan, actor=jon, comment="Not this week.")
    tick(connection)
    assert jira.only()["state"] == "Canceled"
    (comment,) = jira.comments()
    assert "Not this week." in comment


def test_execution_that_fails_ends_in_the_state_for_it(
    connection: Connection,
    jira: FakeJira,
    plan: Plan,
    agents: dict[str, Agent],
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    approved(plan, ines, jon)
    tick(connection)
    jira.ask()
    jira.approve()
    tick(connection)
    execution_stop(execution=plan_execute(plan=plan, actor=olga), actor=olga)
    for _ in range(4):
        agents_look(harbour, agents)
        executions_tick()
    plans_settle()
    tick(connection)
    assert jira.only()["state"] == "Failed"


def test_declined_change_keeps_the_plan_from_executing(
    connection: Connection,
    jira: FakeJira,
    plan: Plan,
    agents: dict[str, Agent],
    ines: User,
    jon: User,
    olga: User,
) -> None:
    approved(plan, ines, jon)
    tick(connection)
    jira.ask()
    jira.decline()
    tick(connection)
    change = plan.changes.get()
    assert (change.approval, change.over_there) == ("refused", True)
    with pytest.raises(Conflict, match="was not approved"):
        plan_execute(plan=plan, actor=olga)


def test_change_closed_by_people_is_left_as_it_is(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    jira.only()["state"] = "Failed"
    plan_withdraw(plan=plan, actor=ines)
    tick(connection)
    assert (jira.only()["state"], jira.comments()) == ("Failed", [])
    assert plan.changes.get().state == "closed"


@pytest.mark.parametrize("fault", [Fault(done=True, drop=True), Fault(done=True, half=True)])
def test_change_whose_answer_was_lost_is_found_not_made_twice(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User, fault: Fault
) -> None:
    submitted(plan, ines)
    jira.faults.append(fault)
    tick(connection)
    assert plan.changes.get().number == ""
    Message.objects.update(**_settled())
    tick(connection)
    assert len(posts(jira)) == 1
    assert plan.changes.get().number == jira.only()["key"]


def _settled() -> dict[str, Any]:
    """Whatever else puts a message off is over."""
    names = {field.name for field in Message._meta.get_fields()}
    return {"settles_at": None} if "settles_at" in names else {"problem": ""}


def test_change_of_another_is_not_taken_for_ours(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    """Searches match words loosely, and people copy issues with their labels and texts."""
    submitted(plan, ines)
    changes_follow()
    connector = connector_of(connection)
    text = ChangeText(**Message.objects.get().payload)
    other = connector.open(replace(text, key=str(uuid4())))
    jira.sloppy = True
    jira.faults.append(Fault(drop=True))
    tick(connection)
    Message.objects.update(**_settled())
    tick(connection)
    first, second = jira.rows.values()
    assert other.id == first["id"]
    assert plan.changes.get().record_id == second["id"]
    mine = replace(other, key=text.key)
    for ask in (connector.status, connector.begin):
        with pytest.raises(Refused, match="another correlation id") as caught:
            ask(mine)
        assert caught.value.status == 404


def test_copies_of_a_change_come_after_it(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    original, key = jira.only(), plan.changes.get().key
    for _ in range(10):
        jira._insert("OPS", original["fields"])
    found = connector_of(connection).find_all(key)
    assert [int(record.id) for record in found] == list(range(10_001, 10_012))
    assert connector_of(connection).find(key) == found[0]
    assert connector_of(connection).find(str(uuid4())) is None


def test_label_or_word_that_people_take_away_does_not_end_the_change(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    jira.only()["fields"].update(labels=[], description="rewritten" if not jira.is_cloud else "x")
    tick(connection)
    change = plan.changes.get()
    assert (change.state_there, change.over_there) == ("Awaiting approval", False)


@pytest.mark.parametrize("seed", range(effort(3, 100)))
def test_whatever_fails_there_is_one_change_and_every_comment_once_in_order(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User, seed: int
) -> None:
    chance = random.Random(seed)
    submitted(plan, ines)
    changes_follow()
    change, written = plan.changes.get(), []
    for turn in range(12):
        jira.faults.extend(any_fault(chance) for _ in range(chance.randrange(3)))
        if chance.random() < 0.4:
            written.append(f"comment {turn}")
            payload = {"text": written[-1]}
            Message.objects.create(change=change, kind=MessageKind.COMMENT, payload=payload)
        tick(connection)
        Message.objects.update(**_settled())
    jira.faults.clear()
    tick(connection)
    plan_withdraw(plan=plan, actor=ines)
    jira.faults.extend(any_fault(chance) for _ in range(4))
    for _ in range(8):
        tick(connection)
        Message.objects.update(**_settled())
    jira.faults.clear()
    for _ in range(2):
        tick(connection)
        Message.objects.update(**_settled())
    assert not Message.objects.filter(sent_at=None).exists()
    assert jira.only()["history"] == ["Awaiting approval", "Canceled"]
    said = [text.split("\n[weir ")[0] for text in jira.comments()]
    assert said[:-1] == written
    assert "was taken back" in said[-1]


def test_what_is_refused_is_said_and_made_once_it_is_mended(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    jira.required = {"customfield_1"}
    submitted(plan, ines)
    tick(connection)
    (message,) = plan.changes.get().messages.all()
    assert "customfield_1 is required." in message.problem
    Connection.objects.update(settings={**connection.settings, "fields": {"customfield_1": "a"}})
    tick(connection)
    assert jira.only()["fields"]["customfield_1"] == "a"


def test_state_that_the_account_does_not_reach_is_said(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    Connection.objects.update(settings={**connection.settings, "cancelled_state": "Approved"})
    plan_withdraw(plan=plan, actor=ines)
    for _ in range(3):
        tick(connection)
    message = Message.objects.get(sent_at=None)
    assert "from there this account gets only to Canceled, not to Approved" in message.problem
    assert len(jira.comments()) == 1, "the outcome is written once"
    Connection.objects.update(settings={**connection.settings, "cancelled_state": ""})
    tick(connection)
    assert plan.changes.get().state == "closed"
    assert jira.only()["state"] == "Awaiting approval"


def test_forbidden_comment_is_a_refusal(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    jira.forbidden = {"comment"}
    record = plan.changes.get().record
    assert record is not None
    with pytest.raises(Refused, match="You do not have the permission") as caught:
        connector_of(connection).comment(record, "a", mark="[weir 1]", again=False)
    assert caught.value.status == 403


def test_deleted_change_is_said_to_be_gone(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    record = plan.changes.get().record
    assert record is not None
    jira.rows.clear()
    with pytest.raises(Refused) as caught:
        connector_of(connection).status(record)
    assert caught.value.status == 404


def test_mark_is_looked_for_in_every_page_of_comments(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    record = plan.changes.get().record
    assert record is not None
    connector = connector_of(connection)
    for number in range(8):
        connector.comment(record, f"a\n[weir m{number}]", mark=f"[weir m{number}]", again=False)
    connector.comment(record, "a", mark="[weir m0]", again=True)
    assert len(jira.comments()) == 8
    connector.comment(record, "a", mark="[weir m9]", again=True)
    assert len(jira.comments()) == 9


def test_connection_is_tested(
    connection: Connection, jira: FakeJira, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "Operations" if kind == "issue" else "Request a change"
    result = connection_test(connection=connection)
    assert (result.works, result.detail) == (True, f"Jira answers to Weir and shows {name}.")
    Connection.objects.update(
        settings={**connection.settings, "service_desk": "8", "project": "NONE"}
    )
    connection.refresh_from_db()
    assert not connection_test(connection=connection).works
    monkeypatch.setenv("WEIR_CREDENTIAL_JIRA", "weir@example.org:another")
    assert connection_test(connection=connection).detail.startswith(
        "The credential was refused (401). It says: Client must be authenticated"
    )


def test_too_many_requests_put_the_connection_off(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    jira.faults.append(Fault(status=429, headers={"Retry-After": "60"}))
    tick(connection)
    connection.refresh_from_db()
    assert connection.problem.startswith("The server answers 429.")


@pytest.mark.parametrize("kind", ["service_request"], indirect=True)
@pytest.mark.parametrize(
    ("decisions", "state", "expected"),
    [
        ([], "Awaiting approval", "waiting"),
        ([], "Approved", "approved"),
        (["pending"], "Approved", "waiting"),
        (["approved"], "Approved", "approved"),
        (["approved"], "Awaiting approval", "waiting"),
        (["approved", "pending"], "Approved", "waiting"),
        (["approved", "approved"], "Approved", "approved"),
        (["approved", "approved", "declined"], "Approved", "refused"),
        (["declined", "again", "approved"], "Approved", "approved"),
        (["approved", "again", "pending"], "Approved", "waiting"),
        (["approved", "again", "declined"], "Approved", "refused"),
        (["granted"], "Approved", "waiting"),
        ([""], "Approved", "waiting"),
        (["approved"], "Declined", "refused"),
    ],
)
def test_request_is_approved_once_all_approvals_are(
    connection: Connection,
    jira: FakeJira,
    plan: Plan,
    ines: User,
    decisions: list[str],
    state: str,
    expected: str,
) -> None:
    """`again`: the approval before is asked for anew."""
    submitted(plan, ines)
    tick(connection)
    name = 0
    for index, decision in enumerate(decisions):
        if decision == "again":
            continue
        name -= decisions[index - 1] == "again"
        jira.ask(f"Board {name}")["finalDecision"] = decision
        name += 1
    jira.only()["state"] = state
    record = plan.changes.get().record
    assert record is not None
    assert connector_of(connection).status(record).approval.value == expected


def test_planned_times_are_written_and_read(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    times = {"start_field": "customfield_1", "end_field": "customfield_2"}
    Connection.objects.update(settings={**connection.settings, **times}, window_from_change=True)
    submitted(plan, ines)
    tick(connection)
    fields = jira.only()["fields"]
    assert fields["customfield_1"].endswith(".000+0000")
    fields["customfield_1"] = "2031-01-01T12:00:00.000+0200"
    fields["customfield_2"] = None
    tick(connection)
    change = plan.changes.get()
    assert change.starts_at == datetime(2031, 1, 1, 10, tzinfo=UTC)
    assert change.ends_at is None


@pytest.mark.parametrize("kind", ["issue"], indirect=True)
def test_link_leads_where_people_open_jira(
    connection: Connection, plan: Plan, ines: User, api: APIClient
) -> None:
    """The address of a service account of Jira Cloud is one that programs alone reach."""
    address = f"/api/v1/connections/{connection.public_id}"
    for web_address, is_taken in (
        ("example.atlassian.net", False),
        ("javascript://example.org", False),
        ("https://example.atlassian.net/", True),
    ):
        settings = {**connection.settings, "web_address": web_address}
        answer = api.patch(
            address, {"settings": settings}, format="json", headers={"If-Match": '"1"'}
        )
        assert (answer.status_code == 200) is is_taken, answer.content
        assert is_taken or "settings.web_address" in str(answer.json()["errors"])
    connection.refresh_from_db()
    submitted(plan, ines)
    tick(connection)
    assert plan.changes.get().link == "https://example.atlassian.net/browse/OPS-1"


def test_screen_on_the_way_to_a_state_is_filled_or_names_what_it_asks_for(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(connection)
    jira.only()["state"] = "Implementing"
    optional = {"name": "Assignee", "required": False, "hasDefaultValue": False}
    preset = {"name": "Impact", "required": True, "hasDefaultValue": True}
    needed = {"name": "Resolution", "required": True, "hasDefaultValue": False}
    jira.screens["Completed"] = {"assignee": optional, "impact": preset, "resolution": needed}
    record = plan.changes.get().record
    assert record is not None
    with pytest.raises(Refused, match=r"completed: .* asks for Resolution \(resolution\)\. Give"):
        connector_of(connection).end(record, Ending.SUCCEEDED, "Done.")
    fields = {"resolution": {"name": "Done"}, "customfield_10099": "of another screen"}
    connection.settings["transition_fields"] = fields
    connector_of(connection).end(record, Ending.SUCCEEDED, "Done.")
    assert jira.only()["state"] == "Completed"
    assert jira.only()["fields"]["resolution"] == {"name": "Done"}
    assert len(jira.comments()) == 1, "how it ended is written once"


def test_change_whose_answer_was_lost_is_looked_for_once_the_search_shows_it(
    connection: Connection, jira: FakeJira, plan: Plan, edition: str, ines: User
) -> None:
    submitted(plan, ines)
    jira.faults.append(Fault(done=True, drop=True, method="POST"))
    tick(connection)
    message = Message.objects.get()
    assert message.settles_at is not None
    wait = message.settles_at - timezone.now()
    lag = timedelta(minutes=5) if edition == "cloud" else timedelta(0)
    assert timedelta(seconds=60) < wait - lag <= timedelta(seconds=90)
    tick(connection)
    assert len(posts(jira)) == 1


PAGES = [
    "<html>sign in</html>",
    *("[]", '"x"', "null", "{}", '{"issues": {}}', '{"fields": []}', '{"values": 1}'),
    *('{"id": "x"}', '{"issueId": null}', '{"fields": {"status": {}}}', '{"transitions": 1}'),
]


@pytest.mark.parametrize("body", PAGES)
def test_answers_that_are_none_are_failures_of_one_request(
    connection: Connection, jira: FakeJira, plan: Plan, ines: User, body: str
) -> None:
    submitted(plan, ines)
    tick(connection)
    record, key = plan.changes.get().record, plan.changes.get().key
    assert record is not None
    connector, text = connector_of(connection), ChangeText(**Message.objects.get().payload)
    for ask in (
        lambda: connector.find(key),
        lambda: connector.open(text),
        lambda: connector.status(record),
        lambda: connector.begin(record),
        lambda: connector.comment(record, "a", mark="[weir 1]", again=True),
    ):
        jira.faults.append(Fault(body=body))
        with pytest.raises(ExchangeError):
            ask()
    assert len(jira.rows) == 1
    assert jira.comments() == []
