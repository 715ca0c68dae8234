"""Channels of chats are told of what is new, once, when they want it, while it lasts."""

import json
from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.inbox.models import Item
from apps.inbox.services import items_keep
from apps.notifications.models import Channel, Message, Notice
from apps.notifications.services import (
    channel_test,
    chats_post,
    notices_note,
    notices_send,
)
from apps.plans.services import plan_reject
from tests.apps.notifications.conftest import Clock, add, begin, change, texts_in, work
from tests.apps.webhooks.receiver import Receiver
from tests.factories import make_system
from tests.factories.fleet import Harbour
from tests.factories.plans import make_plan, submitted
from tests.mail_server import MailServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def test_a_channel_is_told_of_a_plan_once_without_a_mail_server(
    channel: Channel, chat: Receiver, harbour: Harbour, editor: User, clock: Clock
) -> None:
    plan = submitted(make_plan(harbour.system, editor), editor)
    items_keep()
    chat.answer(200, b"ok")
    assert work(clock) == 1
    (request,) = chat.received
    assert request.headers["content-type"] == "application/json"
    text = json.loads(request.body)["text"]
    assert text == f"[Weir] {harbour.system.name}: {plan} waits for review"
    assert "Waits for somebody" in texts_in(chat)
    assert f"<https://weir.example.org/plans/{plan.public_id}|Open>" in texts_in(chat)
    assert "<https://weir.example.org/inbox|Inbox>" in texts_in(chat)
    channel.refresh_from_db()
    assert (channel.last_sent_at, channel.problem) == (clock.now, "")
    for _ in range(3):
        assert work(clock, minutes=20) == 0


def test_what_is_over_by_then_is_not_posted(
    channel: Channel, chat: Receiver, harbour: Harbour, editor: User, approver: User, clock: Clock
) -> None:
    plan = submitted(make_plan(harbour.system, editor), editor)
    items_keep()
    clock.passes(seconds=30)
    assert notices_note() == 1
    plan_reject(plan=plan, actor=approver, comment="No")
    items_keep()
    assert chats_post() == 0
    assert chat.received == []
    assert Notice.objects.get(item__kind="plan_to_review").over_at is not None


def test_a_channel_hears_of_its_systems_and_kinds_alone(
    chat: Receiver, admin: User, clock: Clock
) -> None:
    harbour, bay = make_system("harbour"), make_system("bay")
    add(admin, all_systems=False, systems=[harbour], kinds=["agent_silent"])
    begin(clock, "harbour: an agent is silent", system=harbour)
    begin(clock, "harbour: messages were lost", system=harbour, kind="messages_lost")
    begin(clock, "bay: an agent is silent", system=bay)
    begin(clock, "of no system")
    assert work(clock) == 1
    assert "harbour: an agent is silent" in texts_in(chat)
    assert chat.received[0].body.count(b"section") == 1


def test_what_is_no_longer_wanted_is_not_posted_and_what_is_wanted_now_is(
    chat: Receiver, admin: User, clock: Clock
) -> None:
    channel = add(admin, kinds=["agent_silent"])
    begin(clock)
    begin(clock, "messages were lost", kind="messages_lost")
    clock.passes(seconds=30)
    assert notices_note() == 1
    change(channel, admin, kinds=["messages_lost"])
    assert chats_post() == 0
    assert work(clock) == 1
    assert "messages were lost" in texts_in(chat)
    assert "silent" not in texts_in(chat)


def test_quiet_hours_hold_for_what_is_new_and_for_retries(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(503)
    assert work(clock) == 0
    begins, ends = clock.now + timedelta(seconds=30), clock.now + timedelta(hours=2)
    change(channel, admin, quiet_from=begins.time(), quiet_until=ends.time())
    assert work(clock, minutes=5) == 0
    begin(clock, "another", waits=True)
    assert work(clock, hours=1) == 0
    assert len(chat.received) == 1
    assert work(clock, hours=1) == 1
    assert work(clock) == 1


def test_a_digest_is_one_message_a_day(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    change(channel, admin, digest_at=(clock.now + timedelta(hours=3)).time())
    for number in range(3):
        begin(clock, f"number {number}", waits=True)
        assert work(clock, minutes=30) == 0
    assert work(clock, hours=2) == 1
    assert all(f"number {number}" in texts_in(chat) for number in range(3))
    begin(clock, "late", waits=True)
    assert work(clock, hours=20) == 0
    # Other times hold for what waits.
    change(channel, admin, digest_at=None)
    assert work(clock) == 1


def test_a_channel_that_was_disabled_is_told_of_what_still_stands_in_one_message(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock, "told before")
    assert work(clock) == 1
    waiting = begin(clock, "began before", waits=True)
    clock.passes(seconds=30)
    assert notices_note() == 1
    change(channel, admin, enabled=False)
    begin(clock, "began meanwhile", waits=True)
    over = begin(clock, "over by then", waits=True)
    assert work(clock, hours=30) == 0
    Item.objects.filter(pk=over.pk).update(ended_at=clock.now)
    change(channel, admin, enabled=True)
    assert chats_post() == 0
    assert work(clock) == 1
    assert work(clock, hours=1) == 0
    assert waiting.title in texts_in(chat)
    assert "began meanwhile" in texts_in(chat)
    assert "over by then" not in texts_in(chat)
    assert "told before" not in texts_in(chat)


def test_mail_and_chat_are_told_of_the_same_item_apart(
    channel: Channel,
    chat: Receiver,
    mail: MailServer,
    approver: User,
    harbour: Harbour,
    editor: User,
    clock: Clock,
) -> None:
    submitted(make_plan(harbour.system, editor), editor)
    items_keep()
    mail.refuses = "451 Greylisted"
    assert work(clock) == 1
    assert notices_send() == 0
    mail.refuses = ""
    clock.passes(minutes=2)
    assert notices_send() == 1
    assert len(chat.received) == len(mail.taken) == 1


# --- tests


def test_a_test_is_posted_at_once_and_at_any_hour(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(503)
    assert work(clock) == 0
    until = (clock.now - timedelta(minutes=1)).time()
    change(channel, admin, quiet_from=clock.now.time(), quiet_until=until)
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 1
    assert "This is a test of the channel ops" in texts_in(chat)
    assert f"{admin.display_name} has sent it" in texts_in(chat)
    # It works again: what waited goes out, once it may.
    change(channel, admin, quiet_from=None, quiet_until=None)
    assert work(clock, seconds=5) == 1
    assert "silent" in texts_in(chat)


def test_a_test_that_is_taken_lets_out_what_waited(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(503)
    assert work(clock) == 0
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 2
    assert "test" in texts_in(chat, -2)
    assert "silent" in texts_in(chat)


def test_a_test_is_tried_once(channel: Channel, chat: Receiver, admin: User, clock: Clock) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(503)
    assert work(clock, seconds=5) == 0
    channel.refresh_from_db()
    assert channel.problem == "It answers 503."
    assert Message.objects.get().given_up_at is not None
    assert work(clock, hours=2) == 0
    # Something else is not held back by it.
    begin(clock)
    assert work(clock) == 1
    channel.refresh_from_db()
    assert (channel.problem, channel.failing_since) == ("", None)


def test_a_test_whose_worker_died_says_so(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    Message.objects.update(attempts=1)
    assert work(clock, seconds=5) == 0
    channel.refresh_from_db()
    assert "worker ended" in channel.test_problem
    assert chat.received == []
