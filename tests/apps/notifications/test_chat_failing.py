"""What a chat does not take comes later or is given up, and holds nothing else up."""

import json
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from apps.accounts.models import User
from apps.inbox.models import Item
from apps.notifications.models import Channel, Message
from apps.notifications.services import (
    channel_delete,
    chats_post,
    messages_tidy,
)
from tests.apps.notifications.conftest import Clock, add, begin, change, texts_in, work
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.connect_proxy import proxying

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.mark.parametrize("status", [301, 401, 403, 404, 410])
def test_a_webhook_that_is_gone_is_waited_for_until_its_address_is_mended(
    channel: Channel,
    chat: Receiver,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    begin(clock)
    chat.answer(status, b"no_service")
    assert work(clock) == 0
    channel.refresh_from_db()
    assert str(status) in channel.problem
    assert channel.problem.endswith(": no_service.")
    assert channel.failing_since == clock.now
    assert Message.objects.get().given_up_at is None
    with receiving() as other:
        # Where the credential is, which no edit in Weir could say.
        monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT", other.address)
        assert work(clock, minutes=2) == 1
        assert len(other.received) == 1
    channel.refresh_from_db()
    assert (channel.problem, channel.failing_since) == ("", None)
    assert work(clock, hours=2) == 0


def test_what_was_given_up_long_ago_is_not_told_again(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(400)
    assert work(clock) == 0
    clock.passes(hours=25)
    change(channel, admin, shape="teams")
    assert work(clock) == 0


def test_what_waited_comes_with_what_was_not_taken_in_one_message(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(clock, "not taken", waits=True)
    chat.answer(503)
    assert work(clock) == 0
    begin(clock, "waited", waits=True)
    assert work(clock) == 0
    monkeypatch.setenv("WEIR_CREDENTIAL_OTHER_CHAT", chat.address)
    change(channel, admin, credential="env:WEIR_CREDENTIAL_OTHER_CHAT")
    assert chats_post() == 0
    assert work(clock) == 1
    assert work(clock) == 0
    assert "not taken" in texts_in(chat)
    assert "waited" in texts_in(chat)


def test_another_shape_is_told_in_its_own_words(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(400, b"invalid_payload")
    assert work(clock) == 0
    assert work(clock, hours=1) == 0
    channel.refresh_from_db()
    assert channel.problem == "It answers 400: invalid_payload."
    change(channel, admin, shape="teams")
    chat.answer(202)
    assert work(clock) == 1
    assert json.loads(chat.received[-1].body)["type"] == "message"


def test_retry_after_is_honoured_up_to_an_hour(
    channel: Channel, chat: Receiver, clock: Clock
) -> None:
    begin(clock)
    chat.answer(429, Retry_After="600")
    assert work(clock) == 0
    channel.refresh_from_db()
    assert channel.retry_at == clock.now + timedelta(minutes=10)
    assert work(clock, minutes=9) == 0
    chat.answer(429, Retry_After="86400")
    assert work(clock, minutes=1) == 0
    channel.refresh_from_db()
    assert channel.retry_at == clock.now + timedelta(hours=1)
    assert len(chat.received) == 2
    assert work(clock, hours=1) == 1
    bodies = {one.body for one in chat.received}
    assert len(bodies) == 1, "it is the same message"


def test_a_channel_rests_whatever_times_are_chosen_meanwhile(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    chat.answer(429, Retry_After="600")
    assert work(clock) == 0
    change(channel, admin, timezone="Asia/Kolkata")
    assert work(clock, minutes=9) == 0
    assert len(chat.received) == 1
    assert work(clock, minutes=1) == 1


@pytest.mark.parametrize("status", [408, 500, 503])
def test_what_concerns_the_channel_is_tried_again_and_given_up_after_a_day(
    channel: Channel, chat: Receiver, clock: Clock, status: int
) -> None:
    begin(clock)
    attempts = 0
    for minutes in (0.5, 1, 5, 15, 60, 60):
        chat.answer(status)
        assert work(clock, minutes=minutes) == 0
        attempts += 1
        assert Message.objects.get().attempts == attempts
        assert work(clock, seconds=20) == 0
        assert len(chat.received) == attempts
    assert Message.objects.get().given_up_at is None
    assert work(clock, hours=23) == 0
    message = Message.objects.get()
    assert message.given_up_at is not None
    assert message.problem == f"It answers {status}."
    assert len(chat.received) == attempts
    clock.passes(days=31)
    assert messages_tidy() == 0, "it still stands: it would be told again"


def test_what_is_over_by_the_next_attempt_is_not_posted_again(
    channel: Channel, chat: Receiver, clock: Clock
) -> None:
    over, _ = begin(clock, "over by then", waits=True), begin(clock, "goes on", waits=True)
    chat.answer(500)
    assert work(clock) == 0
    Item.objects.filter(pk=over.pk).update(ended_at=clock.now)
    begin(clock, "new", waits=True)
    work(clock, minutes=2)
    work(clock)
    assert len(chat.received) == 2
    assert "over by then" not in texts_in(chat)
    assert "goes on" in texts_in(chat)
    assert "new" in texts_in(chat)


def test_many_things_one_after_the_other_come_in_few_messages(
    channel: Channel, chat: Receiver, clock: Clock
) -> None:
    for number in range(19):
        begin(clock, f"number {number}")
        work(clock)
    assert len(chat.received) == 1
    begin(clock, "a decision", waits=True)
    assert work(clock) == 1
    assert "number 18" in texts_in(chat)


@pytest.mark.timeout(30)
def test_a_channel_that_hangs_holds_no_other_up(
    chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as slow:
        slow.held = threading.Event()
        monkeypatch.setenv("WEIR_CREDENTIAL_SLOW_CHAT", slow.address)
        # It was made first, and is tried first.
        hanging = add(admin, name="a slow one", credential="env:WEIR_CREDENTIAL_SLOW_CHAT")
        good = add(admin, name="the good one")
        begin(clock)

        def let_go() -> None:
            # The good one has its message while the other hangs: else nobody lets that one go on.
            if chat.arrived.wait(10.0) and slow.held is not None:
                slow.held.set()

        watcher = threading.Thread(target=let_go)
        watcher.start()
        assert work(clock) == 2
        watcher.join()
        slow.held.clear()
        monkeypatch.setattr("apps.common.outgoing.posting.WHOLE_S", 0.5)
        begin(clock, "another", waits=True)
        assert work(clock) == 1
    hanging.refresh_from_db()
    good.refresh_from_db()
    assert hanging.problem.startswith("No answer within")
    assert hanging.retry_at == clock.now + timedelta(minutes=1)
    assert good.problem == ""


def test_a_worker_that_dies_while_it_posts_has_counted_the_attempt(
    channel: Channel, chat: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = httpx.Client.stream

    def die(*args: Any, **kwargs: Any) -> Any:
        with real(*args, **kwargs):
            raise SystemExit

    begin(clock)
    with monkeypatch.context() as patch:
        patch.setattr(httpx.Client, "stream", die)
        with pytest.raises(SystemExit):
            work(clock)
    message = Message.objects.get()
    assert (message.attempts, message.sent_at) == (1, None)
    assert work(clock) == 0
    assert work(clock, seconds=31) == 1
    first, second = chat.received
    assert first.body == second.body


@pytest.mark.django_db(transaction=True)
def test_one_process_posts_at_a_time_whatever_the_mail_does(
    chat: Receiver, admin: User, clock: Clock, other_process: Any
) -> None:
    def lock(call: str, name: bytes) -> None:
        other_process.execute(f"SELECT pg_{call}(%s)", [int.from_bytes(name)])

    add(admin)
    begin(clock)
    lock("advisory_lock", b"mailsend")
    lock("advisory_lock", b"chatpost")
    assert work(clock) == 0
    lock("advisory_unlock", b"chatpost")
    assert work(clock) == 1


class EditedEnvironment(dict[str, str]):
    """An environment in which something happens when the credential is read: the attempt has been
    counted, and nothing is posted yet."""

    def __init__(self, edit: Callable[[], object]) -> None:
        super().__init__(os.environ)
        self._edits = [edit]

    def get(self, name: str, default: Any = None) -> Any:
        if name == "WEIR_CREDENTIAL_OPS_CHAT" and self._edits:
            self._edits.pop()()
        return super().get(name, default)


def test_a_channel_that_is_deleted_while_it_is_posted_to_ends_nothing(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete() -> None:
        channel_delete(channel=channel, actor=admin, expected_version=channel.version)

    begin(clock)
    monkeypatch.setattr("os.environ", EditedEnvironment(delete))
    assert work(clock) == 0
    assert len(chat.received) == 1
    assert not Message.objects.exists()


@pytest.mark.parametrize("answer", [200, 404])
def test_an_answer_says_nothing_of_what_was_edited_meanwhile(
    channel: Channel,
    chat: Receiver,
    admin: User,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    answer: int,
) -> None:
    begin(clock)
    chat.answer(answer)
    with monkeypatch.context() as patch:
        patch.setattr(
            "os.environ", EditedEnvironment(lambda: change(channel, admin, shape="teams"))
        )
        assert work(clock) == 0
    channel.refresh_from_db()
    assert (channel.problem, channel.last_sent_at) == ("", None)
    assert work(clock) == 1
    assert json.loads(chat.received[-1].body)["type"] == "message"


def test_messages_go_by_the_proxy(
    channel: Channel, chat: Receiver, clock: Clock, settings: Any
) -> None:
    begin(clock)
    with proxying() as proxy:
        settings.WEIR_OUTGOING_PROXY = proxy.settings()
        assert work(clock) == 1
    assert len(chat.received) == 1
    assert proxy.requests == [chat.address.split("/")[2]]
