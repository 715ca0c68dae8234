"""The generic HTTP endpoint: what is sent, read and looked for is what its settings say."""

import random
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.errors import Conflict
from apps.integrations.connectors.http.templates import filled, filled_path, value_at
from apps.integrations.models import Connection, Message, MessageKind
from apps.integrations.services import changes_follow
from apps.plans.models import Plan
from apps.plans.services import plan_execute, plan_withdraw
from tests.apps.integrations.conftest import connect, tick
from tests.apps.integrations.faulty_server import Fault, FaultyServer, served
from tests.apps.integrations.test_outbox import any_fault
from tests.factories.fleet import Harbour
from tests.factories.plans import agents_come, agents_look, approved, make_plan, submitted
from tests.suites import effort

SETTINGS: dict[str, Any] = {
    "authentication": "bearer",
    "headers": {"X-Team": "messaging"},
    "open_path": "/api/tickets",
    "open_body": {
        "summary": "{title}",
        "external": {"ref": "{key}", "urls": ["{link}"]},
        "text": "{description} / {justification}",
        "priority": 3,
    },
    "id_at": "ticket.id",
    "number_at": "ticket.name",
    "link_at": "ticket.url",
    "find_path": "/api/tickets?ref={key}",
    "find_list_at": "items",
    "key_at": "external.ref",
    "status_path": "/api/tickets/{id}",
    "state_at": "ticket.state",
    "approved_states": "Agreed, In work",
    "refused_states": "Declined",
    "closed_states": "Done, Declined",
    "comment_path": "/api/tickets/{id}/comments",
    "comment_body": {"body": "{text}"},
    "comments_path": "/api/tickets/{id}/comments",
    "begin_method": "PATCH",
    "begin_path": "/api/tickets/{id}",
    "begin_body": {"state": "In work"},
    "end_method": "PATCH",
    "end_path": "/api/tickets/{id}",
    "end_body": {"state": "Done", "outcome": "{outcome}", "note": "{text}"},
}


class FakeTickets(FaultyServer):
    """A small ticket system with an interface of its own; it knows no idempotency keys."""

    def __init__(self) -> None:
        super().__init__()
        self.tickets: dict[str, dict[str, Any]] = {}
        self.comments: dict[str, list[str]] = {}
        self.headers: list[Mapping[str, str]] = []

    def only(self) -> dict[str, Any]:
        (ticket,) = self.tickets.values()
        return ticket

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        self.headers.append(headers)
        if headers.get("Authorization") != "Bearer tok-123456":
            return 401, {"message": "who are you?"}
        parts = urlsplit(address)
        segments = [unquote(part) for part in parts.path.split("/")[3:]]
        if method == "POST" and not segments:
            number = f"T {len(self.tickets) + 1}/26"
            ticket = {"id": number, "name": number, "url": f"https://t.example.org/{number}"}
            self.tickets[number] = {**body, **ticket, "state": "New"}
            self.comments[number] = []
            return 201, {"ticket": self.tickets[number]}
        if not segments:
            (wanted,) = parse_qs(parts.query).get("ref", [""])
            rows = self.tickets.values()
            return 200, {"items": [row for row in rows if wanted in row["external"]["ref"]]}
        ticket = self.tickets.get(segments[0], {})
        if not ticket:
            return 404, {"message": "no such ticket"}
        if segments[1:] == ["comments"]:
            if method == "POST":
                self.comments[segments[0]].append(body["body"])
            return 200, {"comments": self.comments[segments[0]]}
        if method == "PATCH":
            ticket.update(body)
        return 200, {"ticket": ticket}


@pytest.fixture
def tickets() -> FakeTickets:
    return FakeTickets()


@pytest.fixture
def at(tickets: FakeTickets) -> Iterator[str]:
    with served(tickets) as address:
        yield address


@pytest.fixture
def endpoint(
    allowed: None, at: str, harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> Connection:
    monkeypatch.setenv("WEIR_CREDENTIAL_TICKETS", "tok-123456")
    return connect(
        at,
        harbour,
        name="Tickets",
        product="http",
        credential="env:WEIR_CREDENTIAL_TICKETS",
        settings=SETTINGS,
    )


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    return make_plan(harbour.system, ines)


def test_plan_opens_waits_begins_and_ends(
    endpoint: Connection,
    tickets: FakeTickets,
    plan: Plan,
    harbour: Harbour,
    ines: User,
    jon: User,
    olga: User,
) -> None:
    agents_look(harbour, agents_come(harbour), offered=30.0)
    approved(plan, ines, jon)
    tick(endpoint)
    ticket = tickets.only()
    change = plan.changes.get()
    assert ticket["summary"] == "P-1 Spring tide (harbour)"
    assert ticket["external"]["ref"] == change.key
    (link,) = ticket["external"]["urls"]
    assert link.endswith(f"/plans/{plan.public_id}")
    assert ticket["priority"] == 3
    assert (change.record_id, change.number) == ("T 1/26", "T 1/26")
    assert change.link == "https://t.example.org/T 1/26"
    assert tickets.headers[0]["Idempotency-Key"] == change.key
    assert tickets.headers[0]["X-Team"] == "messaging"
    tick(endpoint)
    with pytest.raises(Conflict) as caught:
        plan_execute(plan=plan, actor=olga)
    assert caught.value.message == "Change T 1/26 is not approved yet (state New)."
    ticket["state"] = "agreed"
    tick(endpoint)
    plan_execute(plan=plan, actor=olga)
    tick(endpoint)
    assert ticket["state"] == "In work"
    (comment,) = tickets.comments["T 1/26"]
    assert comment.startswith("olga started E-1 of P-1.")


@pytest.mark.parametrize("seed", range(effort(4, 200)))
def test_whatever_fails_there_is_one_ticket_and_every_comment_once_in_order(
    endpoint: Connection, tickets: FakeTickets, plan: Plan, ines: User, seed: int
) -> None:
    chance = random.Random(seed)
    submitted(plan, ines)
    changes_follow()
    change, written = plan.changes.get(), []
    for turn in range(12):
        tickets.faults.extend(any_fault(chance) for _ in range(chance.randrange(3)))
        if chance.random() < 0.4:
            written.append(f"comment {turn}")
            payload = {"text": written[-1]}
            Message.objects.create(change=change, kind=MessageKind.COMMENT, payload=payload)
        tick(endpoint)
    tickets.faults.clear()
    tick(endpoint)
    plan_withdraw(plan=plan, actor=ines)
    tickets.faults.extend(any_fault(chance) for _ in range(4))
    for _ in range(6):
        tick(endpoint)
    tickets.faults.clear()
    tick(endpoint)
    assert not Message.objects.filter(sent_at=None).exists()
    ticket = tickets.only()
    assert (ticket["state"], ticket["outcome"]) == ("Done", "cancelled")
    said = [text.split("\n[weir ")[0] for text in tickets.comments[ticket["id"]]]
    assert said == written


def test_ticket_of_another_is_not_taken_for_ours(
    endpoint: Connection, tickets: FakeTickets, plan: Plan, ines: User
) -> None:
    submitted(plan, ines)
    changes_follow()
    key = plan.changes.get().key
    tickets.tickets["X"] = {"id": "X", "external": {"ref": f"{key}-copy"}, "state": "New"}
    tickets.faults.append(Fault(drop=True))
    tick(endpoint)
    tick(endpoint)
    assert plan.changes.get().record_id == "T 2/26"


def test_answer_without_an_id_is_looked_for_not_made_again(
    endpoint: Connection, tickets: FakeTickets, plan: Plan, ines: User
) -> None:
    wrong = {**endpoint.settings, "id_at": "ticket.nr"}
    Connection.objects.update(settings=wrong)
    submitted(plan, ines)
    for _ in range(3):
        tick(endpoint)
    (message,) = plan.changes.get().messages.all()
    assert message.problem == "The answer holds no id at ticket.nr; correct the settings."
    Connection.objects.update(settings=endpoint.settings)
    tick(endpoint)
    assert plan.changes.get().record_id == tickets.only()["id"]


def test_endpoint_that_is_only_told(
    allowed: None, at: str, harbour: Harbour, tickets: FakeTickets, plan: Plan, ines: User
) -> None:
    """Without an id nothing is read back: sent again with the same key, and never held up."""
    told = connect(
        at,
        harbour,
        name="Told",
        product="http",
        credential="",
        approval_needed=False,
        settings={
            "authentication": "none",
            "open_path": "/hook",
            "open_body": {"a": "{title}"},
            "end_path": "/hook/{key}",
        },
    )
    tickets.answer = lambda method, address, body, headers: (  # type: ignore[method-assign]
        tickets.headers.append(headers) or (204, "")
    )
    submitted(plan, ines)
    tickets.faults.append(Fault(done=True, drop=True))
    tick(told)
    tick(told)
    plan_withdraw(plan=plan, actor=ines)
    tick(told)
    change = plan.changes.get()
    assert [address for _, address, _ in tickets.requests] == [
        *("/hook", "/hook", f"/hook/{change.key}"),
    ]
    keys = [headers["Idempotency-Key"] for headers in tickets.headers]
    assert keys == [change.key, change.key, f"{change.key}-end"]
    assert change.state == "closed"


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"open_path": "tickets"}, "settings.open_path", "Begin with /"),
        ({"open_path": "//evil.example.org/"}, "settings.open_path", "after the address"),
        ({"open_path": ""}, "settings.open_path", "where changes are opened"),
        ({"open_body": "x"}, "settings.open_body", "object"),
        ({"open_body": {"a": "{titel}"}}, "settings.open_body", "{titel}"),
        ({"open_body": {"a": [{"b": "{id}"}]}}, "settings.open_body", "{id}"),
        ({"open_method": "DELETE"}, "settings.open_method", "POST"),
        ({"find_path": ""}, "settings.find_path", "answer was lost"),
        ({"find_path": "/tickets"}, "settings.find_path", "{key}"),
        ({"key_at": ""}, "settings.key_at", "correlation id"),
        ({"status_path": "/tickets/{nr}"}, "settings.status_path", "{nr}"),
        ({"approved_states": ""}, "approval_needed", "where an approval is read"),
        ({"state_at": "x" * 300}, "settings.state_at", "200 characters"),
    ],
)
def test_wrong_setting_is_refused_at_its_field(
    api: APIClient, changed: dict[str, Any], field: str, words: str
) -> None:
    settings = {"address": "https://t.example.org", **SETTINGS, **changed}
    body = {
        "name": "T",
        "product": "http",
        "settings": settings,
        "credential": "env:WEIR_CREDENTIAL_T",
    }
    answer = api.post("/api/v1/connections", body, format="json")
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert words in error["message"]


def test_window_needs_times_that_are_read(api: APIClient) -> None:
    body = {
        "name": "T",
        "product": "http",
        "settings": {"address": "https://t.example.org", **SETTINGS},
        "credential": "env:WEIR_CREDENTIAL_T",
        "window_from_change": True,
    }
    answer = api.post("/api/v1/connections", body, format="json")
    assert [error["field"] for error in answer.json()["errors"]] == ["window_from_change"]


def test_what_is_filled_in_is_no_template_and_stays_in_its_place() -> None:
    values = {"title": "{key} of {title}", "key": "k"}
    assert filled("{title}/{key}/{other}", values) == "{key} of {title}/k/{other}"
    assert filled_path("/t/{key}/c", {"key": "../a?b#c/d"}) == "/t/..%2Fa%3Fb%23c%2Fd/c"


def test_value_is_found_at_its_path() -> None:
    answer = {"a": [{"b": {"c": 1}}], "1": None}
    assert value_at(answer, "a.0.b.c") == 1
    assert value_at(answer, "") is answer
    for path in ("a.1", "a.x", "a.-1", "b", "1.2", "a.0.b.c.d", str(uuid.uuid4())):
        assert value_at(answer, path) is None
