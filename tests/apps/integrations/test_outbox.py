"""The outbox while the other side is away, slow, broken or refuses: nothing lost, nothing twice."""

import os
import random
import subprocess
import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings as django_settings
from django.db import connection as database
from django.utils import timezone

from apps.accounts.models import User
from apps.integrations.models import Change, Connection, Exchange, Message
from apps.integrations.models import MessageKind as Kind
from apps.integrations.selectors.gate import change_check
from apps.integrations.services import (
    changes_follow,
    connection_work,
    exchanges,
    kept_requests,
    work,
)
from apps.integrations.services.follow import work_hand_out
from apps.plans.models import Plan
from apps.plans.services import plan_withdraw
from tests.apps.integrations.conftest import SECRET, due, tick
from tests.apps.integrations.faulty_server import Fault
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted
from tests.suites import effort

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def plan(harbour: Harbour, ines: User) -> Plan:
    """In review."""
    return submitted(make_plan(harbour.system, ines), ines)


@pytest.fixture
def opened(connection: Connection, plan: Plan) -> Change:
    """Its change, which ServiceNow has."""
    tick(connection)
    change = plan.changes.get()
    assert change.state == "open"
    return change


def comment(change: Change, text: str) -> Message:
    return Message.objects.create(change=change, kind=Kind.COMMENT, payload={"text": text})


def texts(servicenow: FakeServiceNow) -> list[str]:
    return [note.split("\n[weir ")[0] for note in servicenow.only_notes()]


def posts(servicenow: FakeServiceNow) -> int:
    return sum(method == "POST" for method, _, _ in servicenow.requests)


def any_fault(chance: random.Random) -> Fault:
    """One of all things that go wrong between two servers."""
    done = chance.random() < 0.5
    return chance.choice(
        [
            Fault(done=done, drop=True),
            Fault(done=done, drop=True),
            Fault(done=True, half=True),
            Fault(done=done, status=503),
            Fault(done=done, status=500),
            Fault(status=429, headers={"Retry-After": "1"}),
            Fault(done=done, status=502, body="<html>bad gateway</html>"),
            Fault(done=done, body="<html>maintenance</html>"),
            Fault(status=401),
            Fault(status=302, headers={"Location": "https://login.example.org/"}),
        ]
    )


@pytest.mark.parametrize("seed", range(effort(6, 200)))
def test_whatever_fails_there_is_one_change_and_every_comment_once_in_order(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, seed: int
) -> None:
    chance = random.Random(seed)
    written: list[str] = []
    changes_follow()
    change = plan.changes.get()
    for turn in range(20):
        servicenow.faults.extend(
            any_fault(chance) for _ in range(chance.randrange(3)) if chance.random() < 0.8
        )
        if chance.random() < 0.3:
            written.append(f"comment {turn}")
            comment(change, written[-1])
        tick(connection)
    plan_withdraw(plan=plan, actor=plan.author)  # type: ignore[arg-type]
    servicenow.faults.extend(any_fault(chance) for _ in range(4))
    for _ in range(12):
        tick(connection)
    servicenow.faults.clear()
    for _ in range(2):
        tick(connection)
    assert not Message.objects.filter(sent_at=None).exists()
    row = servicenow.only()
    assert row["correlation_id"] == change.key
    said = texts(servicenow)
    assert said[: len(written)] == written
    assert servicenow.history[row["sys_id"]] == ["New", "Assess", "Canceled"]
    change.refresh_from_db()
    assert (change.state, change.ending) == ("closed", "cancelled")


@pytest.mark.parametrize("fault", [Fault(done=True, drop=True), Fault(done=True, half=True)])
def test_change_whose_answer_was_lost_is_found_not_made_twice(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, fault: Fault
) -> None:
    servicenow.faults.append(fault)
    tick(connection)
    connection.refresh_from_db()
    assert (connection.failures, bool(connection.problem)) == (1, True)
    assert plan.changes.get().number == ""
    tick(connection)
    assert posts(servicenow) == 1
    assert plan.changes.get().number == servicenow.only()["number"]
    connection.refresh_from_db()
    assert (connection.failures, connection.problem) == (0, "")


def test_row_of_another_change_is_not_taken_for_ours(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan
) -> None:
    """A query that ServiceNow does not understand is answered with rows of anybody."""
    other = {"short_description": "Another", "correlation_id": str(uuid.uuid4())}
    header = {"Authorization": _header(servicenow)}
    servicenow.answer("POST", "/api/sn_chg_rest/change/normal", other, header)
    real = servicenow._select
    servicenow._select = lambda query: real({})  # type: ignore[method-assign]
    servicenow.faults.append(Fault(drop=True))
    tick(connection)
    tick(connection)
    assert len(servicenow.rows) == 2
    change = plan.changes.get()
    assert servicenow.rows[change.record_id]["correlation_id"] == change.key


def _header(servicenow: FakeServiceNow) -> str:
    import base64

    return f"Basic {base64.b64encode(servicenow.credential.encode()).decode()}"


def test_ignored_field_is_an_error_until_the_account_may_write_it(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan
) -> None:
    servicenow.read_only.add("backout_plan")
    for _ in range(3):
        tick(connection)
    row = servicenow.only()
    assert servicenow.history[row["sys_id"]] == ["New"], "asked for approval of half a change"
    change = plan.changes.get()
    assert (change.state, change.number) == ("opening", row["number"])
    (message,) = change.messages.all()
    assert message.problem.startswith(f"{row['number']} was opened without backout_plan: ")
    check = change_check(plan, timezone.now())
    assert check is not None
    assert (check.state, check.refusal) == ("fail", "change_not_approved")
    assert "was opened without backout_plan" in check.detail
    servicenow.read_only.clear()
    tick(connection)
    assert row["backout_plan"]
    assert servicenow.history[row["sys_id"]] == ["New", "Assess"]
    assert plan.changes.get().state == "open"
    assert posts(servicenow) == 1


def test_expired_credential_stops_the_connection_and_says_so(
    connection: Connection, servicenow: FakeServiceNow, opened: Change, monkeypatch: Any
) -> None:
    servicenow.credential = "weir:another horse"
    comment(opened, "first")
    comment(opened, "second")
    before = len(servicenow.requests)
    tick(connection)
    assert len(servicenow.requests) == before + 1
    connection.refresh_from_db()
    assert connection.problem.startswith("The credential was refused (401).")
    monkeypatch.setenv("WEIR_CREDENTIAL_SERVICENOW", servicenow.credential)
    tick(connection)
    assert texts(servicenow) == ["first", "second"]


def test_too_many_requests_are_put_off_as_long_as_asked(
    connection: Connection, servicenow: FakeServiceNow, opened: Change
) -> None:
    comment(opened, "first")
    servicenow.faults.append(Fault(status=429, headers={"Retry-After": "600"}))
    tick(connection)
    connection.refresh_from_db()
    assert connection.retry_at is not None
    assert connection.retry_at > timezone.now() + timedelta(seconds=590)
    assert connection_work(connection.public_id) == 0
    assert texts(servicenow) == []
    assert work_hand_out() == []


def test_pauses_grow_and_are_bounded() -> None:
    longest = [max(work.pause_after(n).total_seconds() for _ in range(200)) for n in range(1, 40)]
    assert 1 < longest[0] <= 2
    assert 15 < longest[3] <= 16
    assert all(pause <= work.LONGEST_PAUSE_S for pause in longest)


def test_answer_that_takes_too_long_is_given_up_and_looked_for(
    connection: Connection, servicenow: FakeServiceNow, opened: Change, monkeypatch: Any
) -> None:
    monkeypatch.setattr(kept_requests, "PAUSE_S", 0.2)
    comment(opened, "first")
    servicenow.faults.append(Fault(done=True, wait_s=1.0))
    tick(connection)
    connection.refresh_from_db()
    assert "does not answer in time" in connection.problem
    tick(connection)
    assert texts(servicenow) == ["first"]


def test_answer_larger_than_any_change_is_not_read_to_its_end(
    connection: Connection, servicenow: FakeServiceNow, opened: Change, monkeypatch: Any
) -> None:
    monkeypatch.setattr(kept_requests, "LARGEST_ANSWER_BYTES", 10_000)
    message = comment(opened, "first")
    servicenow.faults.append(Fault(body="x" * 50_000))
    tick(connection)
    message.refresh_from_db()
    connection.refresh_from_db()
    assert "larger than 10,000 bytes" in message.problem
    assert connection.problem == ""


def test_change_closed_there_gets_no_more_comments_and_holds_nothing_up(
    connection: Connection, servicenow: FakeServiceNow, opened: Change, plan: Plan
) -> None:
    row = servicenow.only()
    row["state"] = "4"
    servicenow.read_only.add("work_notes")
    message = comment(opened, "first")
    tick(connection)
    message.refresh_from_db()
    assert message.sent_at is not None
    assert message.problem.startswith("Not written, for the change is over.")
    tick(connection)
    check = change_check(plan, timezone.now())
    assert check is not None
    assert check.detail == "Change CHG0030052 was not approved (state Canceled)."


def test_plan_taken_back_while_the_first_answer_is_lost(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan
) -> None:
    """It is not known whether ServiceNow has it: whichever is true, nothing stays open there."""
    for done in (True, False):
        servicenow.faults.append(Fault(done=done, drop=True))
        tick(connection)
        plan_withdraw(plan=plan, actor=plan.author)  # type: ignore[arg-type]
        tick(connection)
        tick(connection)
        assert [row["state"] for row in servicenow.rows.values()] == ["4"]
        assert not plan.changes.exclude(state="closed").exists()
        submitted(plan, plan.author)  # type: ignore[arg-type]
    assert posts(servicenow) == 1


def test_one_worker_at_a_time(connection: Connection, opened: Change) -> None:
    comment(opened, "first")
    with work._claimed(connection.public_id) as mine:
        assert mine is not None
        assert connection_work(connection.public_id) == 0
        assert work_hand_out() == []
        assert mine.run() == 1
    connection.refresh_from_db()
    assert connection.claimed_by is None


def test_worker_that_lost_its_claim_sends_nothing_more(
    connection: Connection, servicenow: FakeServiceNow, opened: Change
) -> None:
    message = comment(opened, "first")
    requests = len(servicenow.requests)
    with work._claimed(connection.public_id) as mine:
        assert mine is not None
        Connection.objects.update(claimed_until=timezone.now())
        with work._claimed(connection.public_id) as other:
            assert other is not None
            with pytest.raises(work.ClaimLost):
                mine.run()
    assert len(servicenow.requests) == requests
    message.refresh_from_db()
    assert (message.sent_at, message.attempts) == (None, 1)
    tick(connection)
    assert texts(servicenow) == ["first"]


def test_one_connection_s_failure_is_not_another_s(
    connection: Connection, servicenow: FakeServiceNow, opened: Change
) -> None:
    comment(opened, "first")
    other = Connection.objects.create(
        name="Gone", product="servicenow", settings={"address": "http://127.0.0.1:1"}
    )
    Change.objects.filter(pk=opened.pk).update(looked_at=None)
    Connection.objects.filter(pk=other.pk).update(problem="away", retry_at=timezone.now())
    assert work_hand_out() == [str(connection.public_id)]


def test_secrets_are_in_no_exchange_and_no_log(
    connection: Connection, servicenow: FakeServiceNow, opened: Change, caplog: Any
) -> None:
    caplog.set_level("DEBUG")
    header = _header(servicenow)
    echo = f'{{"error": {{"message": "no: {header} {SECRET} weir:{SECRET}"}}}}'
    for status in (400, 500):
        servicenow.faults.append(Fault(status=status, body=echo))
        comment(opened, f"mine is {SECRET}")
        tick(connection)
    connection.refresh_from_db()
    kept = str(list(Exchange.objects.values())) + str(list(Connection.objects.values()))
    kept += str(list(Message.objects.values("problem"))) + caplog.text
    assert "no: Basic ***" in kept
    assert SECRET not in kept
    assert header.removeprefix("Basic ") not in kept


def test_only_the_last_exchanges_are_kept(
    connection: Connection, opened: Change, monkeypatch: Any
) -> None:
    monkeypatch.setattr(exchanges, "EXCHANGES_KEPT", 5)
    for turn in range(7):
        comment(opened, f"comment {turn}")
        tick(connection)
    written = Exchange.objects.exclude(method="GET")
    assert written.count() == 5
    assert "comment 6" in written.latest("id").request
    assert Exchange.objects.filter(method="GET").count() <= 5


def _database() -> str:
    row = database.settings_dict
    user, password, name = (quote(str(row[key]), safe="") for key in ("USER", "PASSWORD", "NAME"))
    return f"postgres://{user}:{password}@{row['HOST']}:{row['PORT']}/{name}"


WORKER = """
import ipaddress, sys, uuid, django
django.setup()
from django.conf import settings
settings.WEIR_PLAIN_HTTP = True
settings.WEIR_PRIVATE_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"),)
from apps.integrations.services import connection_work
connection_work(uuid.UUID(sys.argv[1]))
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("done", [True, False])
def test_worker_killed_while_it_sends_loses_and_doubles_nothing(
    connection: Connection, servicenow: FakeServiceNow, plan: Plan, method: str, done: bool
) -> None:
    changes_follow()
    comment(plan.changes.get(), "first")
    fault = Fault(done=done, drop=not done, wait_s=30.0, method=method)
    servicenow.faults.append(fault)
    environment = {
        **os.environ,
        "DATABASE_URL": _database(),
        "WEIR_BROKER_URL": django_settings.WEIR_BROKER_URL,
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
    }
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(connection.public_id)], cwd=ROOT, env=environment
    )
    try:
        assert servicenow.held.wait(60), "the worker sends nothing"
    finally:
        worker.kill()
        worker.wait(10)
    assert connection_work(connection.public_id) == 0, "the dead worker's claim holds"
    Connection.objects.update(claimed_until=timezone.now())
    due(connection)
    for _ in range(3):
        tick(connection)
    assert texts(servicenow) == ["first"]
    assert servicenow.history[servicenow.only()["sys_id"]] == ["New", "Assess"]
    assert posts(servicenow) == 1
