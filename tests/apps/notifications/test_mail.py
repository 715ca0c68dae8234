"""Whoever is called to something is told by e-mail, once, when they want it, while it lasts."""

from datetime import datetime, timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core.mail.backends.smtp import EmailBackend
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.errors import PreconditionFailed
from apps.inbox.models import Item
from apps.inbox.services import items_keep
from apps.notifications.models import Message, Notice, NotificationSettings
from apps.notifications.services import (
    messages_tidy,
    notices_note,
    notices_send,
    notification_settings_update,
)
from apps.plans.models import Plan
from apps.plans.services import plan_reject
from tests.apps.notifications.conftest import Clock, addressed
from tests.conftest import client_of
from tests.factories.fleet import Harbour, make_harbour, rate
from tests.factories.plans import make_plan, submitted
from tests.mail_server import MailServer, serving

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def plan(harbour: Harbour, editor: User, approver: User, mail: MailServer) -> Plan:
    """A plan in review."""
    return submitted(make_plan(harbour.system, editor), editor)


def work(clock: Clock) -> int:
    """What coordinator and worker do within half a minute. Returns how many messages were sent."""
    items_keep()
    clock.passes(seconds=30)
    notices_note()
    return notices_send()


def choose(person: User, **values: Any) -> NotificationSettings:
    row = NotificationSettings.objects.filter(person=person).first()
    return notification_settings_update(
        person=person, expected_version=row.version if row else 0, values=values
    )


def test_an_approver_is_told_of_a_plan_once(
    plan: Plan, harbour: Harbour, mail: MailServer, settings: Any, clock: Clock
) -> None:
    settings.WEIR_PUBLIC_URL = "https://weir.example.org"
    assert work(clock) == 1
    (message,) = mail.taken
    assert mail.recipients == [["approver@example.org"]]
    assert message["subject"] == f"[Weir] {harbour.system.name}: {plan} waits for review"
    assert message["from"] == "weir@example.org"
    assert message["message-id"] == f"<{Message.objects.get().public_id}@example.org>"
    text = message.get_content()
    assert f"https://weir.example.org/plans/{plan.public_id}" in text
    assert "https://weir.example.org/settings/notifications" in text
    assert "Spring tide, by editor." in text
    assert text.index("Waits for you") < text.index("/inbox")
    for _ in range(3):
        assert work(clock) == 0


def test_what_is_over_before_it_settled_is_told_to_nobody(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    items_keep()
    notices_note()
    assert not Notice.objects.exists()
    plan.refresh_from_db()
    plan_reject(plan=plan, actor=approver, comment="No")
    assert work(clock) == 1
    assert mail.recipients == [["editor@example.org"]]
    assert "was rejected" in mail.taken[0]["subject"]


def test_what_is_over_before_it_is_due_is_not_sent(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    items_keep()
    clock.passes(seconds=30)
    assert notices_note() == 1
    plan.refresh_from_db()
    plan_reject(plan=plan, actor=approver, comment="No")
    items_keep()
    assert notices_send() == 0
    assert mail.taken == []
    assert Notice.objects.get(person=approver).over_at is not None


def test_all_that_is_due_comes_in_one_message(
    plan: Plan, editor: User, mail: MailServer, clock: Clock
) -> None:
    submitted(make_plan(make_harbour("bay").system, editor), editor)
    assert work(clock) == 1
    (message,) = mail.taken
    assert message["subject"].endswith("waits for review and 1 more")
    assert message.get_content().count("waits for review") == 2


def test_nothing_is_sent_in_quiet_hours_and_all_of_it_after(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    choose(
        approver,
        quiet_from=(clock.now - timedelta(hours=1)).time(),
        quiet_until=(clock.now + timedelta(hours=1)).time(),
    )
    assert work(clock) == 0
    assert Notice.objects.get().due_at == clock.now + timedelta(minutes=59, seconds=30)
    clock.passes(minutes=30)
    assert work(clock) == 0
    clock.passes(minutes=30)
    assert work(clock) == 1


def test_retries_and_what_is_late_keep_quiet_hours_too(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "451 Greylisted"
    assert work(clock) == 0
    mail.refuses = ""
    begin, end = clock.now + timedelta(seconds=30), clock.now + timedelta(hours=2)
    choose(approver, quiet_from=begin.time(), quiet_until=end.time())
    clock.passes(minutes=5)
    assert work(clock) == 0
    clock.passes(hours=2)
    assert work(clock) == 1


def test_new_times_hold_for_what_waits(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    choose(approver, digest_at=(clock.now + timedelta(hours=2)).time())
    assert work(clock) == 0
    due_at = Notice.objects.get().due_at
    choose(approver, by_email=True)
    choose(approver, kinds=["plan_to_review"])
    assert Notice.objects.get().due_at == due_at
    choose(approver, digest_at=None)
    assert notices_send() == 1


def test_new_times_hold_for_a_message_that_waits_for_the_end_of_quiet_hours(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "451 Greylisted"
    assert work(clock) == 0
    mail.refuses = ""
    ends = (clock.now + timedelta(hours=8)).time()
    choose(approver, quiet_from=clock.now.time(), quiet_until=ends)
    clock.passes(minutes=5)
    assert work(clock) == 0
    choose(approver, quiet_from=None, quiet_until=None)
    assert work(clock) == 1


@pytest.mark.parametrize("values", [{"by_email": False}, {"kinds": ["agent_silent"]}])
def test_nobody_is_told_of_what_they_do_not_want(
    plan: Plan, approver: User, mail: MailServer, values: dict[str, Any], clock: Clock
) -> None:
    items_keep()
    clock.passes(seconds=30)
    assert notices_note() == 1
    choose(approver, **values)
    assert notices_send() == 0
    assert work(clock) == 0
    assert mail.taken == []


@pytest.mark.parametrize("values", [{"roles": ["viewer"]}, {"is_active": False}, {"email": ""}])
def test_who_is_no_longer_called_is_not_told(
    plan: Plan, approver: User, mail: MailServer, values: dict[str, Any], clock: Clock
) -> None:
    items_keep()
    clock.passes(seconds=30)
    assert notices_note() == 1
    User.objects.filter(pk=approver.pk).update(**values)
    assert notices_send() == 0
    assert mail.taken == []


def test_who_is_called_later_is_told_then(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    assert work(clock) == 1
    addressed("later", Role.APPROVER)
    assert work(clock) == 1
    assert mail.recipients[-1] == ["later@example.org"]
    assert work(clock) == 0


def test_what_comes_back_is_told_where_it_was_not(
    approver: User, mail: MailServer, clock: Clock
) -> None:
    operator = addressed("operator", Role.OPERATOR)
    item = Item.objects.create(
        kind="agent_silent", about="x", title="1 agent is silent", waits=False, since=clock.now
    )
    clock.passes(seconds=30)
    assert notices_note() == 1
    Item.objects.filter(pk=item.pk).update(ended_at=clock.now)
    assert notices_send() == 0
    Item.objects.filter(pk=item.pk).update(ended_at=None)
    notices_note()
    assert notices_send() == 1
    # Once told it is known, however often it comes and goes.
    Item.objects.filter(pk=item.pk).update(ended_at=clock.now)
    clock.passes(minutes=1)
    notices_note()
    Item.objects.filter(pk=item.pk).update(ended_at=None)
    clock.passes(minutes=1)
    notices_note()
    assert notices_send() == 0
    assert mail.recipients == [[operator.email]]


def test_what_gets_worse_is_told_again_after_an_hour(mail: MailServer, clock: Clock) -> None:
    addressed("operator", Role.OPERATOR)
    item = Item.objects.create(
        kind="messages_lost", about="x", title="Harbour lost messages", waits=False, since=clock.now
    )

    def sent_after(minutes: float, *, grows: bool = True) -> int:
        clock.passes(minutes=minutes - 0.5)
        if grows:
            Item.objects.filter(pk=item.pk).update(grew_at=clock.now)
        clock.passes(minutes=0.5)
        notices_note()
        return notices_send()

    assert sent_after(1, grows=False) == 1
    assert sent_after(10) == 0
    assert sent_after(10) == 0
    assert sent_after(41, grows=False) == 1
    assert "it got worse" in mail.taken[-1].get_content()
    assert sent_after(120, grows=False) == 0


@pytest.mark.parametrize("quiet", [False, True])
def test_what_got_worse_before_it_was_written_comes_once(
    mail: MailServer, clock: Clock, quiet: bool
) -> None:
    operator = addressed("operator", Role.OPERATOR)
    if quiet:
        ends = (clock.now + timedelta(hours=8)).time()
        choose(operator, quiet_from=clock.now.time(), quiet_until=ends)
    else:
        choose(operator, digest_at=(clock.now + timedelta(hours=8)).time())
    item = Item.objects.create(
        kind="messages_lost", about="x", title="Harbour lost messages", waits=False, since=clock.now
    )
    clock.passes(seconds=30)
    assert notices_note() == 1
    clock.passes(hours=4)
    Item.objects.filter(pk=item.pk).update(grew_at=clock.now)
    clock.passes(hours=1)
    assert notices_note() == 0
    clock.passes(hours=3)
    assert notices_send() == 1
    clock.passes(seconds=30)
    assert notices_note() == 0


def test_many_things_one_after_the_other_come_in_few_messages(
    mail: MailServer, clock: Clock
) -> None:
    addressed("operator", Role.OPERATOR)
    sent = 0
    for number in range(24):
        Item.objects.create(
            kind="backlog", about=f"{number}", title="Queue fills", waits=False, since=clock.now
        )
        clock.passes(seconds=30)
        notices_note()
        sent += notices_send()
    assert sent == 2
    clock.passes(minutes=10)
    assert notices_send() == 1
    assert sum(one.get_content().count("Queue fills") for one in mail.taken) == 24


def test_only_what_was_sent_holds_back_what_waits_for_nobody(
    mail: MailServer, clock: Clock
) -> None:
    addressed("operator", Role.OPERATOR)
    mail.refuses = "554 5.7.1 Looks like spam"
    for number in range(2):
        Item.objects.create(
            kind="backlog", about=f"{number}", title="Queue fills", waits=False, since=clock.now
        )
        clock.passes(seconds=30)
        notices_note()
        notices_send()
        mail.refuses = ""
    assert len(mail.taken) == 1


def test_a_plan_that_may_be_executed_at_last_is_told_again(
    harbour: Harbour, mail: MailServer, clock: Clock
) -> None:
    addressed("operator", Role.OPERATOR)
    item = Item.objects.create(
        kind="plan_to_execute", about="x", title="P-1 is approved", waits=False, since=clock.now
    )
    clock.passes(seconds=30)
    notices_note()
    assert notices_send() == 1
    assert "To know" in mail.taken[-1].get_content()
    clock.passes(minutes=1)
    Item.objects.filter(pk=item.pk).update(waits=True, waits_since=clock.now)
    clock.passes(seconds=30)
    notices_note()
    assert notices_send() == 1
    assert "Waits for you" in mail.taken[-1].get_content()
    clock.passes(hours=3)
    notices_note()
    assert notices_send() == 0


# --- the mail server


def test_who_left_meanwhile_is_not_written_to(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "451 Greylisted"
    assert work(clock) == 0
    mail.refuses = ""
    User.objects.filter(pk=approver.pk).update(is_active=False)
    clock.passes(seconds=61)
    assert work(clock) == 0
    assert mail.taken == []
    assert Message.objects.get().given_up_at is not None


def test_what_is_not_taken_is_sent_again_later_as_the_same_message(
    plan: Plan, editor: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "451 Greylisted"
    assert work(clock) == 0
    message = Message.objects.get()
    assert message.problem == "451 Greylisted"
    # Something else is due by then; it does not change what was written, and comes after it.
    submitted(make_plan(make_harbour("bay").system, editor), editor)
    mail.refuses = ""
    assert work(clock) == 0
    clock.passes(seconds=61)
    assert work(clock) == 1
    assert mail.taken[0]["subject"].count("more") == 0
    assert mail.taken[0]["message-id"] == f"<{message.public_id}@example.org>"
    assert mail.taken[0].get_content().splitlines() == message.body.splitlines()
    assert work(clock) == 1
    assert "bay" in mail.taken[1]["subject"]
    message.refresh_from_db()
    assert (message.problem, message.attempts) == ("", 2)


def test_it_is_given_up_a_day_after_its_first_attempt(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "451 Full"
    choose(approver, digest_at=(clock.now + timedelta(hours=23)).time())
    assert work(clock) == 0
    clock.passes(hours=23)
    for hours, attempts, ended in ((0, 1, False), (1, 2, False), (22.9, 3, False), (1, 3, True)):
        clock.passes(hours=hours)
        assert work(clock) == 0
        message = Message.objects.get()
        assert (message.attempts, message.given_up_at is not None) == (attempts, ended)
    assert message.problem == "451 Full"
    clock.passes(days=31)
    assert messages_tidy() == 0, "the plan still waits: it would be told again"
    Item.objects.update(ended_at=clock.now)
    assert messages_tidy() > 0
    assert not Message.objects.exists()


def test_a_final_answer_ends_it_until_there_is_another_address(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    mail.refuses = "550 5.1.1 No such user"
    assert work(clock) == 0
    message = Message.objects.get()
    assert message.given_up_at is not None
    assert message.problem == "550 5.1.1 No such user"
    mail.refuses = ""
    clock.passes(hours=2)
    assert work(clock) == 0
    User.objects.filter(pk=approver.pk).update(email="approver@example.com")
    assert work(clock) == 1
    assert mail.recipients == [["approver@example.com"]]
    assert work(clock) == 0


def test_why_an_address_took_nothing_is_not_said_of_another(
    plan: Plan, approver: User, mail: MailServer, clock: Clock
) -> None:
    def problem() -> str:
        shown = client_of(approver).get("/api/v1/session/notifications").json()["problem"]
        return str(shown)

    mail.refuses = "550 5.1.1 No such user"
    assert work(clock) == 0
    assert problem() == mail.refuses
    User.objects.filter(pk=approver.pk).update(email="approver@example.com")
    approver.refresh_from_db()
    assert problem() == ""


@pytest.mark.parametrize("answer", ["550 5.7.1 Not from you", "530 Authentication required"])
def test_who_may_not_send_at_all_loses_nothing(
    plan: Plan, mail: MailServer, clock: Clock, answer: str
) -> None:
    addressed("another", Role.APPROVER)
    mail.refuses_sender = answer
    assert work(clock) == 0
    tried, untried = Message.objects.order_by("-attempts")
    assert (tried.attempts, untried.attempts, tried.given_up_at) == (1, 0, None)
    assert tried.problem == "The mail server takes nothing from Weir."
    mail.refuses_sender = ""
    clock.passes(seconds=61)
    assert work(clock) == 2


@pytest.mark.parametrize(
    "values", [{"by_email": False}, {"roles": []}, {"kinds": ["agent_silent"]}]
)
def test_a_message_of_what_is_no_longer_for_somebody_is_not_sent_again(
    plan: Plan, approver: User, mail: MailServer, clock: Clock, values: dict[str, Any]
) -> None:
    mail.refuses = "451 Greylisted"
    assert work(clock) == 0
    mail.refuses = ""
    if "roles" in values:
        User.objects.filter(pk=approver.pk).update(**values)
    else:
        choose(approver, **values)
    clock.passes(minutes=2)
    assert work(clock) == 0
    assert Message.objects.get().given_up_at is not None
    assert mail.taken == []


def test_after_an_outage_of_the_mail_server_comes_what_still_stands(
    plan: Plan, editor: User, approver: User, mail: MailServer, settings: Any, clock: Clock
) -> None:
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    second = submitted(make_plan(make_harbour("bay").system, editor), editor)
    assert work(clock) == 0
    submitted(make_plan(make_harbour("cove").system, editor), editor)
    clock.passes(hours=3)
    assert work(clock) == 0
    plan_reject(plan=second, actor=approver, comment="No")
    settings.EMAIL_PORT = port
    clock.passes(hours=2)
    work(clock)
    work(clock)
    (message,) = [
        one
        for one, recipients in zip(mail.taken, mail.recipients, strict=True)
        if recipients == [approver.email]
    ]
    assert message["subject"].endswith("waits for review and 1 more")
    assert "bay" not in message.get_content()


def test_a_recipient_that_is_refused_keeps_no_other_from_it(
    plan: Plan, mail: MailServer, clock: Clock
) -> None:
    addressed("another", Role.APPROVER)
    mail.unknown = "approver@example.org"
    assert work(clock) == 1
    assert mail.recipients == [["another@example.org"]]
    assert Message.objects.get(person__username="approver").problem.startswith("550")


def test_a_server_that_is_away_is_asked_once_for_all(
    plan: Plan, mail: MailServer, settings: Any, clock: Clock
) -> None:
    addressed("another", Role.APPROVER)
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 1
    assert work(clock) == 0
    tried, untried = Message.objects.order_by("-attempts")
    assert (tried.attempts, untried.attempts) == (1, 0)
    assert tried.problem == "The mail server cannot be reached."
    settings.EMAIL_PORT = port
    clock.passes(seconds=61)
    assert work(clock) == 2


def test_what_fails_in_an_unforeseen_way_keeps_no_other_from_it(
    plan: Plan, mail: MailServer, clock: Clock
) -> None:
    another = addressed("another", Role.APPROVER)
    User.objects.filter(username="approver").update(email="a\nb@example.org")
    assert work(clock) == 1
    assert mail.recipients == [[another.email]]


def test_a_worker_that_dies_while_it_sends_has_counted_the_attempt(
    plan: Plan, mail: MailServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", die)
        with pytest.raises(SystemExit):
            work(clock)
    message = Message.objects.get()
    assert (message.attempts, message.sent_at) == (1, None)
    assert message.next_at > clock.now
    clock.passes(seconds=61)
    assert work(clock) == 1


def test_who_is_deleted_while_they_are_written_to_ends_nothing(
    plan: Plan, approver: User, mail: MailServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    another = addressed("another", Role.APPROVER)
    real = EmailBackend.send_messages

    def delete(self: EmailBackend, messages: Any) -> int:
        User.objects.filter(email__in=messages[0].to, username="approver").delete()
        return real(self, messages) or 0

    monkeypatch.setattr(EmailBackend, "send_messages", delete)
    assert work(clock) == 1
    assert Message.objects.get().person == another
    assert work(clock) == 0


def test_a_lost_answer_is_sent_again_under_the_same_id(
    plan: Plan, mail: MailServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = EmailBackend.send_messages

    def lose(self: EmailBackend, messages: Any) -> int:
        real(self, messages)
        raise SMTPServerDisconnected("lost")

    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", lose)
        assert work(clock) == 0
    clock.passes(seconds=61)
    assert work(clock) == 1
    first, second = mail.taken
    assert first["message-id"] == second["message-id"]
    assert first.get_content() == second.get_content()


def test_what_stood_before_there_was_a_mail_server_comes_in_one_message(
    harbour: Harbour, editor: User, approver: User, settings: Any, clock: Clock
) -> None:
    submitted(make_plan(harbour.system, editor), editor)
    submitted(make_plan(make_harbour("bay").system, editor), editor)
    settings.EMAIL_HOST = ""
    assert work(clock) == 0
    assert not Notice.objects.exists()
    with serving() as mail:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", mail.port
        settings.DEFAULT_FROM_EMAIL = "weir@example.org"
        assert work(clock) == 1
        assert work(clock) == 0


def test_whoever_sends_signs_in_where_the_server_wants_it(
    plan: Plan, settings: Any, clock: Clock
) -> None:
    with serving("weir", "secret") as mail:
        settings.EMAIL_PORT = mail.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "weir", "wrong"
        assert work(clock) == 0
        assert Message.objects.get().problem == "The mail server does not let Weir in."
        settings.EMAIL_HOST_PASSWORD = "secret"
        clock.passes(seconds=61)
        assert work(clock) == 1


# --- texts


def test_names_and_details_of_others_cannot_look_like_ours(mail: MailServer, clock: Clock) -> None:
    addressed("operator", Role.OPERATOR)
    Item.objects.create(
        kind="agent_silent",
        about="x",
        title="bay\r\nBcc: everybody@example.org is silent",
        detail="No.\n\nWaits for you\n\n* Confirm your password\n  https://evil.test" + "x" * 2000,
        page="/systems/1",
        waits=False,
        since=clock.now,
    )
    assert work(clock) == 1
    assert mail.recipients == [["operator@example.org"]]
    message = mail.taken[0]
    assert message["bcc"] is None
    lines = message.get_content().splitlines()
    assert "Waits for you" not in lines
    assert max(map(len, lines)) < 600


def test_times_are_those_of_the_person(mail: MailServer, clock: Clock) -> None:
    operator = addressed("operator", Role.OPERATOR)
    choose(operator, timezone="Asia/Kolkata")
    Item.objects.create(
        kind="agent_silent",
        about="x",
        title="An agent of Größe is silent",
        waits=False,
        since=datetime.fromisoformat("2026-03-18T14:02:00Z"),
    )
    assert work(clock) == 1
    assert "since Wednesday 18 March, 19:32 IST" in mail.taken[0].get_content()
    assert mail.taken[0]["subject"] == "[Weir] An agent of Größe is silent"


# --- the whole


def test_it_costs_nothing_while_nothing_changes(plan: Plan, mail: MailServer, clock: Clock) -> None:
    assert work(clock) == 1
    with CaptureQueriesContext(connection) as queries:
        notices_note()
    for number in range(5):
        addressed(f"operator{number}", Role.OPERATOR)
    with CaptureQueriesContext(connection) as more:
        notices_note()
    assert len(more) == len(queries) <= 6


def test_settings_of_two_windows_do_not_overwrite_each_other(approver: User) -> None:
    choose(approver, by_email=False)
    assert NotificationSettings.objects.get().version == 1
    with pytest.raises(PreconditionFailed):
        notification_settings_update(person=approver, expected_version=0, values={"by_email": True})
    choose(approver, by_email=False)
    assert NotificationSettings.objects.get().version == 1, "nothing was changed"


def test_a_plan_that_comes_again_is_told_again(
    plan: Plan, approver: User, editor: User, harbour: Harbour, mail: MailServer, clock: Clock
) -> None:
    assert work(clock) == 1
    plan.refresh_from_db()
    plan_reject(plan=plan, actor=approver, comment="No")
    work(clock)
    submitted(make_plan(harbour.system, editor, [rate(None, 41.0)]), editor)
    work(clock)
    subjects = [message["subject"] for message in mail.taken]
    assert sum("waits for review" in subject for subject in subjects) == 2
