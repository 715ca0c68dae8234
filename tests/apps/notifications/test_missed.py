"""What was given up is counted, and the next message that a channel takes says how many."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.models import User
from apps.inbox.models import Item
from apps.notifications.models import Channel, Message
from apps.notifications.services import channel_test, messages_tidy
from tests.apps.notifications.conftest import Clock, begin, change, texts_in, work
from tests.apps.webhooks.receiver import Receiver
from tests.conftest import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def missed(channel: Channel, person: User) -> tuple[int, Any]:
    """What the API says that a channel missed, and since when."""
    body = client_of(person).get(f"/api/v1/channels/{channel.public_id}").json()
    return body["missed"], body["missed_since"]


def iso(clock: Clock) -> str:
    return clock.now.isoformat().replace("+00:00", "Z")


def gone_for_a_day(clock: Clock, chat: Receiver) -> None:
    """A message that begins to fail now, and is given up."""
    chat.answer(404)
    assert work(clock) == 0
    assert work(clock, hours=25) == 0


def test_what_was_given_up_after_a_day_is_counted_and_said_once(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    assert missed(channel, admin) == (0, None)
    begin(clock, "number 0", waits=True)
    gone_for_a_day(clock, chat)
    first = iso(clock)
    assert missed(channel, admin) == (1, first)
    begin(clock, "number 1", waits=True)
    gone_for_a_day(clock, chat)
    assert missed(channel, admin) == (2, first)
    begin(clock, "after", waits=True)
    assert work(clock, hours=1) == 1
    assert "2 messages to this channel were given up since" in texts_in(chat)
    assert "number 0" not in texts_in(chat)
    assert missed(channel, admin) == (0, None)
    begin(clock, "later", waits=True)
    assert work(clock) == 1
    assert "given up" not in texts_in(chat)


def test_a_change_of_what_was_missed_is_one_of_the_channel(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock, waits=True)
    gone_for_a_day(clock, chat)
    channel.refresh_from_db()
    assert channel.updated_at >= clock.now


def test_what_was_given_up_at_once_is_counted(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(400, b"invalid_blocks")
    assert work(clock) == 0
    assert missed(channel, admin) == (1, iso(clock))
    begin(clock, "next", waits=True)
    assert work(clock) == 1
    assert "1 message to this channel was given up, on" in texts_in(chat)


def test_a_test_says_nothing_of_it_and_leaves_it_to_the_next_message(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(400)
    assert work(clock) == 0
    first = iso(clock)
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 1
    assert "given up" not in texts_in(chat)
    assert missed(channel, admin) == (1, first)
    begin(clock, "next", waits=True)
    assert work(clock) == 1
    assert "1 message to this channel was given up, on" in texts_in(chat)
    assert missed(channel, admin) == (0, None)


def test_a_test_that_failed_and_what_is_written_anew_were_not_missed(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(400)
    work(clock, seconds=5)
    over, _ = begin(clock, "over by then", waits=True), begin(clock, "goes on", waits=True)
    chat.answer(503)
    work(clock)
    Item.objects.filter(pk=over.pk).update(ended_at=clock.now)
    work(clock, minutes=2)
    assert Message.objects.exclude(given_up_at=None).count() == 2
    assert missed(channel, admin) == (0, None)


def test_an_edit_that_brings_it_anew_counts_it_no_more(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock, "long ago", waits=True)
    chat.answer(400)
    assert work(clock) == 0
    first = iso(clock)
    begin(clock, "not long ago", waits=True)
    chat.answer(400)
    assert work(clock, hours=25) == 0
    assert missed(channel, admin) == (2, first)
    change(channel, admin, shape="teams")
    assert missed(channel, admin) == (1, first)
    assert work(clock) == 1
    body = chat.received[-1].body.decode()
    assert "1 message to this channel was given up, on" in body
    assert "not long ago" in body


def test_what_was_not_said_is_kept(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    item = begin(clock)
    chat.answer(400)
    work(clock)
    Item.objects.filter(pk=item.pk).update(ended_at=clock.now)
    clock.passes(days=31)
    assert messages_tidy() == 0
    Message.objects.update(is_missed=False)
    assert messages_tidy() > 0


def test_what_somebody_missed_by_e_mail_is_in_their_inbox(admin: User, clock: Clock) -> None:
    message = Message.objects.create(
        person=admin, address="a@example.org", subject="x", body="x", given_up_at=clock.now
    )
    with pytest.raises(IntegrityError, match="what_a_channel_missed"), transaction.atomic():
        Message.objects.filter(pk=message.pk).update(is_missed=True)
