"""A change counts as deleted there only if the account certainly sees what is there."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import transaction

from apps.accounts.models import User
from apps.integrations.domain.contract import Ending
from apps.integrations.models import Connection, Message
from apps.integrations.models import MessageKind as Kind
from apps.integrations.services import connection_work, follow
from apps.plans.models import Plan
from apps.plans.services import plan_withdraw
from tests.apps.integrations.conftest import connect, due, tick
from tests.apps.integrations.faulty_server import FaultyServer, served
from tests.apps.integrations.jira_server import CATEGORIES, FakeJira
from tests.factories.fleet import Harbour, population, rate
from tests.factories.plans import agents_come, agents_look, approved, make_plan, submitted

STATES = {
    "approved_states": "Approved",
    "begin_state": "Implementing",
    "succeeded_state": "Completed",
    "cancelled_state": "Canceled",
}


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    agents_look(harbour, agents_come(harbour), offered=30.0)
    return make_plan(harbour.system, ines, [rate(None, 40.0)], [population(None, 5)])


@pytest.fixture
def jira() -> FakeJira:
    return FakeJira("cloud")


@pytest.fixture
def to_jira(
    allowed: None, jira: FakeJira, harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    monkeypatch.setenv("WEIR_CREDENTIAL_JIRA", "weir@example.org:tok-123456")
    settings = {"authentication": "basic", "edition": "cloud", "kind": "issue", "project": "OPS"}
    with served(jira) as at:
        yield connect(
            at,
            harbour,
            name="Jira",
            product="jira",
            credential="env:WEIR_CREDENTIAL_JIRA",
            settings={**settings, "issue_type": "Change", **STATES},
        )


def expire(jira: FakeJira) -> Callable[[], None]:
    """Its token is no more: Jira Cloud lets strangers look, and shows them nothing."""
    real = jira.answer

    def answer(method: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        path = urlsplit(address).path
        if "search" in path:
            return 200, {"issues": [], "isLast": True}
        if path.endswith("/myself") or (method == "POST" and path.endswith("/issue")):
            return 401, {"errorMessages": ["You are not authenticated."]}
        return 404, {"errorMessages": ["Issue does not exist or you do not have permission."]}

    def renew() -> None:
        jira.answer = real  # type: ignore[method-assign]

    jira.answer = answer  # type: ignore[method-assign]
    return renew


def test_expired_token_drops_no_approved_change(
    to_jira: Connection, jira: FakeJira, plan: Plan, ines: User, jon: User
) -> None:
    approved(plan, ines, jon)
    tick(to_jira)
    jira.approve()
    tick(to_jira)
    renew = expire(jira)
    tick(to_jira)
    to_jira.refresh_from_db()
    assert "401" in to_jira.problem
    change = plan.changes.get()
    assert (change.state, change.approval) == ("open", "approved")
    renew()
    tick(to_jira)
    assert plan.changes.get().pk == change.pk
    to_jira.refresh_from_db()
    assert to_jira.problem == ""


def test_expired_token_swallows_neither_comments_nor_the_end(
    to_jira: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(to_jira)
    change = plan.changes.get()
    Message.objects.create(change=change, kind=Kind.COMMENT, payload={"text": "It begins."})
    renew = expire(jira)
    plan_withdraw(plan=plan, actor=ines, reason="Not this week.")
    for _ in range(3):
        tick(to_jira)
    assert change.messages.filter(sent_at=None).count() == 2
    renew()
    for _ in range(3):
        tick(to_jira)
    change.refresh_from_db()
    assert (change.state, jira.only()["state"]) == ("closed", "Canceled")
    assert any("It begins." in text for text in jira.comments())


def test_what_is_deleted_in_jira_is_opened_anew(
    to_jira: Connection, jira: FakeJira, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    tick(to_jira)
    tick(to_jira)
    jira.rows.clear()
    for _ in range(3):
        tick(to_jira)
    assert sorted(plan.changes.values_list("state", flat=True)) == ["closed", "open"]


def test_approved_change_whose_state_is_done_is_begun_and_completed(
    to_jira: Connection,
    jira: FakeJira,
    plan: Plan,
    ines: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(CATEGORIES, "Approved", "done")
    submitted(plan, ines)
    tick(to_jira)
    jira.approve()
    tick(to_jira)
    change = plan.changes.get()
    assert (change.approval, change.over_there) == ("approved", False)
    Message.objects.create(change=change, kind=Kind.BEGIN, payload={})
    with transaction.atomic():
        follow._end(change, Ending.SUCCEEDED, "It was carried out.")
    due(to_jira)
    connection_work(to_jira.public_id)
    assert jira.only()["state"] == "Completed"
    assert any("It was carried out." in text for text in jira.comments())


class Tickets(FaultyServer):
    """An endpoint behind something that answers 404 to everything while the endpoint is away."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, str]] = {}
        self.is_away = False

    def answer(self, method: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        parts = urlsplit(address)
        _, *key = parts.path.strip("/").split("/")
        if self.is_away:
            return 404, "default backend - 404"
        if method == "POST":
            row = {"id": str(len(self.rows) + 1), "ref": body["ref"], "state": "New"}
            self.rows[row["id"]] = row
            return 201, row
        if not key:
            return 200, [
                row for row in self.rows.values() if [row["ref"]] == parse_qs(parts.query)["ref"]
            ]
        if key[0] not in self.rows:
            return 404, {}
        if method == "PATCH":
            self.rows[key[0]].update(body)
        return 200, self.rows[key[0]]


def test_what_stands_before_an_endpoint_deletes_nothing(
    allowed: None, harbour: Harbour, plan: Plan, ines: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_CREDENTIAL_X", "tok-123456")
    tickets = Tickets()
    settings = {
        "open_path": "/tickets",
        "open_body": {"ref": "{key}"},
        "id_at": "id",
        "find_path": "/tickets?ref={key}",
        "key_at": "ref",
        "status_path": "/tickets/{id}",
        "state_at": "state",
        "approved_states": "Approved",
        "closed_states": "Done",
        "end_method": "PATCH",
        "end_path": "/tickets/{id}",
        "end_body": {"state": "Done"},
    }
    with served(tickets) as at:
        connection = connect(
            at,
            harbour,
            name="Tickets",
            product="http",
            credential="env:WEIR_CREDENTIAL_X",
            settings=settings,
        )
        submitted(plan, ines)
        tick(connection)
        tickets.rows["1"]["state"] = "Approved"
        tick(connection)
        tickets.is_away = True
        tick(connection)
        change = plan.changes.get()
        assert (change.state, change.approval) == ("open", "approved")
        assert "404" in change.problem
        plan_withdraw(plan=plan, actor=ines, reason="Not this week.")
        tick(connection)
        assert Message.objects.filter(kind=Kind.END, sent_at=None).count() == 1
        tickets.is_away = False
        tick(connection)
        change.refresh_from_db()
        assert (change.state, tickets.rows["1"]["state"]) == ("closed", "Done")
        assert list(tickets.rows) == ["1"]
