"""What fails of one change or one message is put off and shown; everything else goes on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.integrations.domain.contract import Ending
from apps.integrations.models import Change, Connection, Exchange, Message
from apps.integrations.models import MessageKind as Kind
from apps.integrations.selectors.gate import change_check
from apps.integrations.services import (
    changes_follow,
    connection_update,
    connection_work,
    follow,
    work,
)
from apps.integrations.services import exchanges as exchanges_module
from apps.integrations.services.follow import AT_ONCE, work_hand_out
from apps.plans.models import Plan
from apps.plans.services import plan_withdraw
from tests.apps.integrations.conftest import due, tick
from tests.apps.integrations.faulty_server import Fault
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.factories import make_user
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted


@pytest.fixture
def plans(harbour: Harbour, ines: User) -> list[Plan]:
    """Four in review."""
    kinds = ["allocation", "mapping", "overlay", "assignment"]
    return [submitted(make_plan(harbour.system, ines, kind=kind), ines) for kind in kinds]


@pytest.fixture
def opened(connection: Connection, plans: list[Plan]) -> list[Change]:
    """Their changes, which ServiceNow has."""
    tick(connection)
    changes = [plan.changes.get() for plan in plans]
    assert {change.state for change in changes} == {"open"}
    return changes


def comment(change: Change, text: str) -> Message:
    return Message.objects.create(change=change, kind=Kind.COMMENT, payload={"text": text})


def texts(servicenow: FakeServiceNow, change: Change) -> list[str]:
    return [note.split("\n[weir ")[0] for note in servicenow.notes[change.record_id]]


def answers_to(
    servicenow: FakeServiceNow, method: str, ids: set[str], status: int, error: Any = None
) -> Callable[[], None]:
    """From now on requests about these changes are answered so; returns what ends that."""
    real = servicenow.answer

    def answer(given: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        if given == method and address.split("?")[0].rsplit("/", 1)[-1] in ids:
            return status, error or {"error": {"message": f"no: {status}"}}
        return real(given, address, body, headers)

    servicenow.answer = answer  # type: ignore[method-assign]

    def end() -> None:
        servicenow.answer = real  # type: ignore[method-assign]

    return end


def approve_all(servicenow: FakeServiceNow) -> None:
    for row in servicenow.rows.values():
        row.update(approval="approved", state="-2")


@pytest.mark.parametrize("status", [403, 500])
def test_change_that_cannot_be_read_is_put_off_alone_and_shown(
    connection: Connection,
    servicenow: FakeServiceNow,
    opened: list[Change],
    plans: list[Plan],
    api: APIClient,
    status: int,
) -> None:
    approve_all(servicenow)
    bad = opened[0]
    end = answers_to(servicenow, "GET", {bad.record_id}, status)
    for failures in (1, 2):
        tick(connection)
        bad.refresh_from_db()
        assert (bad.look_failures, bad.approval) == (failures, "waiting")
    assert f"no: {status}" in bad.problem
    assert bad.next_look_at is not None
    assert [plan.changes.get().approval for plan in plans[1:]] == ["approved"] * 3
    connection.refresh_from_db()
    assert (connection.problem, connection.retry_at) == ("", None)
    shown = api.get(f"/api/v1/plans/{plans[0].public_id}/change").json()
    assert f"no: {status}" in shown["change"]["problem"]
    page = api.get(f"/api/v1/connections/{connection.public_id}").json()
    (row,) = page["troubled"]
    assert (row["number"], row["plan_name"]) == (bad.number, str(plans[0]))
    # What was read before counts for five minutes, then the reason is in the refusal.
    Change.objects.filter(pk=bad.pk).update(
        approval="approved", looked_at=timezone.now() - timedelta(minutes=6)
    )
    check = change_check(plans[0], timezone.now())
    assert check is not None
    assert f"no: {status}" in check.detail
    Change.objects.exclude(pk=bad.pk).update(looked_at=timezone.now())
    assert work_hand_out() == [], "it is put off"
    end()
    tick(connection)
    bad.refresh_from_db()
    assert (bad.approval, bad.problem, bad.look_failures) == ("approved", "", 0)
    assert api.get(f"/api/v1/connections/{connection.public_id}").json()["troubled"] == []


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_change_at_which_the_server_breaks_off_lets_others_have_their_turn(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], method: str
) -> None:
    approve_all(servicenow)
    for change in opened:
        comment(change, "first")
    real, bad = servicenow.answer, opened[0].record_id

    def answer(given: str, address: str, *rest: Any) -> tuple[int, Any]:
        if given == method and address.endswith(bad):
            raise ConnectionResetError
        return real(given, address, *rest)

    servicenow.answer = answer  # type: ignore[method-assign]
    due(connection)
    for _ in range(3):
        connection_work(connection.public_id)
        Connection.objects.update(retry_at=None, problem="")
    assert {row.approval for row in Change.objects.exclude(pk=opened[0].pk)} == {"approved"}
    assert [texts(servicenow, change) for change in opened[1:]] == [["first"]] * 3


@pytest.mark.parametrize("status", [400, 500])
def test_message_that_fails_each_time_holds_up_its_own_change_alone(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], status: int
) -> None:
    end = answers_to(servicenow, "PATCH", {opened[0].record_id}, status)
    for change in opened:
        comment(change, "first")
    last = comment(opened[0], "second")
    for attempts in (1, 2):
        tick(connection)
        message = opened[0].messages.filter(sent_at=None).earliest("id")
        assert (message.attempts, f"no: {status}" in message.problem) == (attempts, True)
        assert message.next_at > timezone.now()
    last.refresh_from_db()
    assert last.attempts == 0
    assert [texts(servicenow, change) for change in opened[1:]] == [["first"]] * 3
    connection.refresh_from_db()
    assert (connection.problem, connection.retry_at) == ("", None)
    end()
    tick(connection)
    assert texts(servicenow, opened[0]) == ["first", "second"]


def test_server_that_fails_at_one_change_after_the_other_is_left_alone(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    for change in opened:
        comment(change, "first")
    end = answers_to(servicenow, "PATCH", {change.record_id for change in opened}, 500)
    due(connection)
    connection_work(connection.public_id)
    connection.refresh_from_db()
    assert "500" in connection.problem
    assert connection.retry_at is not None
    assert sum(message.attempts for message in Message.objects.filter(sent_at=None)) <= 3
    end()
    tick(connection)
    assert [texts(servicenow, change) for change in opened] == [["first"]] * 4


def test_connection_that_refuses_answers(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    comment(opened[0], "first")
    answers_to(servicenow, "PATCH", {opened[0].record_id}, 403)
    before = timezone.now()
    Connection.objects.update(problem="Away.", retry_at=before, failures=3, answered_at=None)
    Change.objects.update(looked_at=before)
    connection_work(connection.public_id)
    connection.refresh_from_db()
    assert (connection.problem, connection.failures) == ("", 0)
    assert connection.answered_at is not None


@pytest.mark.parametrize(
    "state",
    ["\x00" * 3, "x" * 5_000, "\ud800 half a letter"],
    ids=["nul", "long", "surrogate"],
)
def test_answer_that_no_column_takes_is_stored_as_far_as_one_does(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], state: str
) -> None:
    real = servicenow._pairs

    def pairs(row: dict[str, str]) -> Any:
        answer = real(row)
        answer["state"]["display_value"] = state
        answer["number"] = {"value": state or "-"}
        return answer

    servicenow._pairs = pairs  # type: ignore[method-assign]
    tick(connection)
    change = Change.objects.get(pk=opened[0].pk)
    assert change.problem == ""
    assert 0 < len(change.state_there) <= 100
    comment(opened[0], "first")
    tick(connection)
    assert texts(servicenow, opened[0]) == ["first"]


def test_refusal_in_letters_that_no_column_takes_is_shown(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    message = comment(opened[0], "first")
    error = {"error": {"message": "no\x00 \ud800"}}
    answers_to(servicenow, "PATCH", {opened[0].record_id}, 400, error)
    tick(connection)
    message.refresh_from_db()
    assert "no" in message.problem


def test_id_longer_than_the_column_is_refused_not_cut(
    connection: Connection, servicenow: FakeServiceNow, plans: list[Plan]
) -> None:
    """What is cut off an id is the id of something else."""
    changes_follow()
    key, real = plans[0].changes.get().key, servicenow._pairs

    def pairs(row: dict[str, str]) -> Any:
        answer = real(row)
        if row["correlation_id"] == key:
            answer["sys_id"] = {"value": "a" * 300}
        return answer

    servicenow._pairs = pairs  # type: ignore[method-assign]
    for _ in range(3):
        tick(connection)
    message = plans[0].changes.get().messages.get()
    assert "longer than 200 characters" in message.problem
    assert [plan.changes.get().state for plan in plans] == ["opening", "open", "open", "open"]
    assert len(servicenow.rows) == 4, "opened again each time"


def test_fault_of_our_own_is_logged_shown_and_put_off(
    connection: Connection,
    servicenow: FakeServiceNow,
    opened: list[Change],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An ending that there is not: what nobody has foreseen."""
    broken = Message.objects.create(
        change=opened[0], kind=Kind.END, payload={"ending": "exploded", "text": "x"}
    )
    comment(opened[1], "first")
    tick(connection)
    broken.refresh_from_db()
    assert "A fault of Weir" in broken.problem
    assert broken.next_at > timezone.now()
    assert "exploded" in caplog.text
    assert texts(servicenow, opened[1]) == ["first"]
    connection.refresh_from_db()
    assert connection.problem == ""


@pytest.mark.parametrize("state", ["open", "ending"])
def test_change_deleted_there_is_closed_and_opened_anew_while_its_plan_waits(
    connection: Connection,
    servicenow: FakeServiceNow,
    opened: list[Change],
    plans: list[Plan],
    state: str,
) -> None:
    old, plan = opened[0], plans[0]
    if state == "ending":
        plan_withdraw(plan=plan, actor=plan.author)  # type: ignore[arg-type]
    del servicenow.rows[old.record_id]
    tick(connection)
    old.refresh_from_db()
    assert (old.state, old.ending) == ("closed", "cancelled")
    assert not Message.objects.filter(sent_at=None).exists()
    if state == "ending":
        return
    event = plan.events.get(command="change_deleted")
    assert event.title == f"change {old.number} was deleted there"
    tick(connection)
    new = plan.changes.get(state="open")
    assert new.pk != old.pk
    assert servicenow.rows[new.record_id]["correlation_id"] == new.key
    assert len(servicenow.rows) == 4


def test_account_that_may_not_read_opens_no_change_after_the_other(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], plans: list[Plan]
) -> None:
    """ServiceNow answers 404 for what an account may not see."""
    servicenow._select = lambda query: []  # type: ignore[method-assign]
    real = servicenow.answer
    servicenow.answer = lambda method, *rest: (  # type: ignore[method-assign]
        (404, {"error": {"message": "Record not found"}})
        if method == "GET" and "?" not in rest[0]
        else real(method, *rest)
    )
    for _ in range(8):
        tick(connection)
    assert len(servicenow.rows) <= 8
    new = plans[0].changes.get(state="open")
    assert "404" in new.problem


def test_change_deleted_before_it_was_whole_is_opened_anew(
    connection: Connection, servicenow: FakeServiceNow, harbour: Harbour, ines: User
) -> None:
    plan = submitted(make_plan(harbour.system, ines), ines)
    servicenow.read_only.add("backout_plan")
    tick(connection)
    first = servicenow.only()["number"]
    servicenow.rows.clear()
    servicenow.read_only.clear()
    tick(connection)
    change = plan.changes.get()
    assert (change.state, change.record_id) == ("open", servicenow.only()["sys_id"])
    assert plan.events.get(command="change_deleted").title == f"change {first} was deleted there"


def test_lost_attempt_is_looked_for_only_once_a_slow_server_has_carried_it_out(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    message = comment(opened[0], "first")
    servicenow.faults.append(Fault(drop=True, method="PATCH"))
    changes_follow()
    due(connection)
    connection_work(connection.public_id)
    message.refresh_from_db()
    assert message.settles_at is not None
    assert message.settles_at > timezone.now() + timedelta(seconds=80)
    Connection.objects.update(retry_at=None, problem="")
    Message.objects.update(next_at=timezone.now())
    Change.objects.update(looked_at=timezone.now())
    assert work_hand_out() == []
    assert connection_work(connection.public_id) == 0
    connection.refresh_from_db()
    connection_update(
        connection=connection, actor=make_user("mo"), expected_version=1, values={"name": "Other"}
    )
    assert connection_work(connection.public_id) == 0, "an edit makes no server faster"
    servicenow.notes[opened[0].record_id].append(f"first\n[weir {message.public_id}]")
    tick(connection)
    assert texts(servicenow, opened[0]) == ["first"]


def test_answered_attempt_is_tried_again_without_waiting_for_anything(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    message = comment(opened[0], "first")
    servicenow.faults.append(Fault(status=429, method="PATCH"))
    tick(connection)
    message.refresh_from_db()
    assert (message.attempts, message.settles_at) == (1, None)


def test_change_that_a_slow_server_made_twice_is_cancelled_once(
    connection: Connection, servicenow: FakeServiceNow, harbour: Harbour, ines: User
) -> None:
    plan = submitted(make_plan(harbour.system, ines), ines)
    changes_follow()
    change = plan.changes.get()
    credential = {"Authorization": "Basic d2Vpcjpjb3JyZWN0IGhvcnNl"}
    for _ in range(2):
        servicenow.answer(
            "POST",
            "/api/sn_chg_rest/change/normal",
            {"correlation_id": change.key},
            credential,
        )
    Message.objects.update(attempts=2)
    tick(connection)
    first, second = servicenow.rows.values()
    assert (first["state"], second["state"]) == ("-4", "4")
    change.refresh_from_db()
    assert change.record_id == first["sys_id"]
    event = plan.events.get(command="change_doubled")
    assert event.title == f"change {second['number']} was opened twice"


def test_claim_outlasts_every_request() -> None:
    from apps.integrations.services import kept_requests

    assert work.CLAIM.total_seconds() >= kept_requests.WHOLE_S + 30
    assert work.SETTLE.total_seconds() >= kept_requests.WHOLE_S


@pytest.mark.parametrize("values", [{"enabled": False}, {"name": "Other"}])
def test_edit_makes_the_worker_begin_anew(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], values: dict[str, Any]
) -> None:
    message = comment(opened[0], "first")
    requests = len(servicenow.requests)
    with work._claimed(connection.public_id) as mine:
        assert mine is not None
        connection_update(
            connection=connection, actor=make_user("mo"), expected_version=1, values=values
        )
        with pytest.raises(work.ClaimLost):
            mine.run()
    assert len(servicenow.requests) == requests
    message.refresh_from_db()
    assert (message.sent_at, message.settles_at) == (None, None)
    Connection.objects.update(enabled=True)
    tick(connection)
    assert texts(servicenow, opened[0]) == ["first"]


def test_approval_is_read_anew_after_an_edit_before_it_counts(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], plans: list[Plan]
) -> None:
    approve_all(servicenow)
    tick(connection)
    check = change_check(plans[0], timezone.now())
    assert check is not None
    assert check.state == "pass"
    settings = {**connection.settings, "cmdb_ci": "harbour"}
    connection.refresh_from_db()
    connection_update(
        connection=connection,
        actor=make_user("mo"),
        expected_version=connection.version,
        values={"settings": settings},
    )
    check = change_check(plans[0], timezone.now())
    assert check is not None
    assert check.state == "fail"
    tick(connection)
    check = change_check(plans[0], timezone.now())
    assert check is not None
    assert check.state == "pass"


def test_what_was_read_with_former_settings_is_not_stored(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    """The answer comes after the edit."""
    approve_all(servicenow)
    real, version = servicenow.answer, connection.version

    def answer(method: str, *rest: Any) -> tuple[int, Any]:
        answered = real(method, *rest)
        mine.connection.version = version - 1
        return answered

    due(connection)
    with work._claimed(connection.public_id) as mine:
        assert mine is not None
        servicenow.answer = answer  # type: ignore[method-assign]
        with pytest.raises(work.ClaimLost):
            mine.run()
    assert set(Change.objects.values_list("approval", flat=True)) == {"waiting"}


def test_reads_push_no_writes_out_and_what_is_read_alike_is_one_row(
    connection: Connection,
    servicenow: FakeServiceNow,
    opened: list[Change],
    api: APIClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges_module, "EXCHANGES_KEPT", 5)
    writes = list(Exchange.objects.exclude(method="GET").values_list("pk", flat=True))
    rows = Exchange.objects.filter(change=opened[0], method="GET")
    before = {row.pk: row.times for row in rows}
    for turn in range(3):
        tick(connection)
        for row in servicenow.rows.values():
            row["start_date"] = f"2031-01-0{turn + 1} 10:00:00"
    tick(connection)
    tick(connection)
    kept = Exchange.objects.all()
    assert sorted(kept.exclude(method="GET").values_list("pk", flat=True)) == sorted(writes)
    assert kept.filter(method="GET").count() == 5
    newest = api.get("/api/v1/exchanges").json()["results"][0]
    assert newest["times"] == 2
    assert newest["first_at"] < newest["at"]
    assert all(row.times >= before.get(row.pk, 1) for row in rows)


def test_few_connections_are_worked_on_at_a_time_and_each_has_its_turn(
    connection: Connection, opened: list[Change]
) -> None:
    """The threads of the worker are not all taken by slow servers."""
    Change.objects.update(looked_at=None)
    others = [
        Connection.objects.create(name=f"C{n}", product="servicenow", settings=connection.settings)
        for n in range(AT_ONCE + 1)
    ]
    for other, change in zip(others, opened, strict=False):
        Change.objects.filter(pk=change.pk).update(connection=other)
    everybody = {str(row.public_id) for row in (connection, *others)}
    first = work_hand_out()
    assert len(first) == AT_ONCE
    with work._claimed(others[0].public_id), work._claimed(others[1].public_id) as second:
        assert second is not None
        assert work_hand_out() == []
        with work._claimed(connection.public_id) as third:
            assert third is None
    later = set()
    for _ in range(len(everybody)):
        for public_id in work_hand_out():
            later.add(public_id)
            Connection.objects.filter(public_id=public_id).update(worked_at=timezone.now())
    assert later == everybody


@pytest.mark.parametrize("is_large", [False, True])
def test_change_at_which_reading_breaks_off_holds_nothing_else_up(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], is_large: bool
) -> None:
    approve_all(servicenow)
    Message.objects.create(change=opened[0], kind=Kind.BEGIN, payload={})
    for change in opened[1:]:
        comment(change, "first")
    real = servicenow.answer

    def answer(method: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        status, content = real(method, address, body, headers)
        if method == "GET" and address.endswith(opened[0].record_id):
            if not is_large:
                raise ConnectionResetError
            content["result"]["work_notes"] = {"value": "", "display_value": "x" * 1_100_000}
        return status, content

    servicenow.answer = answer  # type: ignore[method-assign]
    Change.objects.update(looked_at=None)
    for _ in range(4):
        Connection.objects.update(retry_at=None, problem="")
        connection_work(connection.public_id)
    assert [texts(servicenow, change) for change in opened[1:]] == [["first"]] * 3
    read = Change.objects.filter(pk__in=[change.pk for change in opened[1:]])
    assert set(read.values_list("approval", flat=True)) == {"approved"}
    assert Message.objects.get(sent_at=None).problem != ""


def test_write_that_breaks_off_holds_nothing_else_up_after_an_outage(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    for change in opened:
        comment(change, "first")
    real = servicenow.answer

    def answer(method: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        if method == "PATCH" and address.endswith(opened[0].record_id):
            raise ConnectionResetError
        return real(method, address, body, headers)

    servicenow.answer = answer  # type: ignore[method-assign]
    Connection.objects.update(failures=9)
    for _ in range(2):
        Connection.objects.update(retry_at=None, problem="")
        Message.objects.filter(sent_at=None).update(settles_at=None)
        connection_work(connection.public_id)
    assert [texts(servicenow, change) for change in opened[1:]] == [["first"]] * 3


def test_no_worker_is_started_for_what_waits_behind_something_put_off(
    connection: Connection, opened: list[Change]
) -> None:
    head, _ = comment(opened[0], "head"), comment(opened[0], "tail")
    later = timezone.now() + timedelta(minutes=5)
    Message.objects.filter(pk=head.pk).update(next_at=later)
    Change.objects.update(looked_at=timezone.now())
    assert work_hand_out() == []
    Message.objects.filter(pk=head.pk).update(next_at=timezone.now())
    assert work_hand_out() == [str(connection.public_id)]


def test_write_that_a_server_failed_at_is_looked_for_only_once_it_may_have_been_carried_out(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    message = comment(opened[0], "first")
    servicenow.faults.append(Fault(status=500, method="PATCH", done=True))
    tick(connection)
    message.refresh_from_db()
    assert message.settles_at is not None
    assert message.settles_at > timezone.now() + timedelta(seconds=60)


def begin(change: Change) -> Message:
    return Message.objects.create(change=change, kind=Kind.BEGIN, payload={})


def test_begin_that_is_refused_waits_for_whoever_mends_it_and_holds_no_comment_up(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], api: APIClient
) -> None:
    approve_all(servicenow)
    change = opened[0]
    beginning, _ = begin(change), comment(change, "first")
    end = answers_to(servicenow, "PATCH", {change.record_id}, 403)
    real_comment = {"work_notes"}
    refused = servicenow.answer

    def answer(method: str, address: str, body: Any, headers: Any) -> tuple[int, Any]:
        if method == "PATCH" and set(body) <= real_comment:
            return FakeServiceNow.answer(servicenow, method, address, body, headers)
        return refused(method, address, body, headers)

    servicenow.answer = answer  # type: ignore[method-assign]
    connection_work(connection.public_id)
    assert texts(servicenow, change) == ["first"]
    (row,) = api.get("/api/v1/waiting-messages").json()["results"]
    assert (row["id"], row["kind"], row["attempts"]) == (str(beginning.public_id), "begin", 1)
    assert "no: 403" in row["problem"]
    # Another comment is no reason to try again before it is due, and goes all the same.
    comment(change, "second")
    Change.objects.update(looked_at=timezone.now())
    assert work_hand_out() == [str(connection.public_id)]
    connection_work(connection.public_id)
    assert texts(servicenow, change) == ["first", "second"]
    beginning.refresh_from_db()
    assert (beginning.attempts, beginning.sent_at) == (1, None)
    end()
    tick(connection)
    beginning.refresh_from_db()
    assert beginning.sent_at is not None
    assert servicenow.rows[change.record_id]["state"] == "-1"


def test_begin_that_is_refused_is_tried_once_more_before_the_end_and_then_given_up(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change]
) -> None:
    change = opened[0]
    beginning = begin(change)
    end = answers_to(servicenow, "PATCH", {change.record_id}, 403)
    connection_work(connection.public_id)
    with transaction.atomic():
        follow._end(change, Ending.CANCELLED, "It was taken back.")
    connection_work(connection.public_id)
    beginning.refresh_from_db()
    assert (beginning.attempts, beginning.sent_at is None) == (2, False)
    assert "its end is next" in beginning.problem
    assert [message.kind for message in change.messages.filter(sent_at=None)] == [Kind.END]
    end()
    tick(connection)
    change.refresh_from_db()
    assert change.state == "closed"


def test_waiting_message_is_due_once_what_may_be_under_way_has_settled(
    connection: Connection, servicenow: FakeServiceNow, opened: list[Change], api: APIClient
) -> None:
    message = comment(opened[0], "first")
    servicenow.faults.append(Fault(status=500, method="PATCH", done=True))
    tick(connection)
    message.refresh_from_db()
    (row,) = api.get("/api/v1/waiting-messages").json()["results"]
    assert parse_datetime(row["next_at"]) == message.settles_at
