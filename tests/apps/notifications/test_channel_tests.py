"""What becomes of a test is the test's own, whatever other messages do meanwhile."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.notifications.models import Channel, Message
from apps.notifications.services import channel_test
from tests.apps.notifications.conftest import Clock, add, begin, change, texts_in, work
from tests.apps.notifications.test_chat_failing import EditedEnvironment
from tests.apps.webhooks.receiver import Receiver
from tests.conftest import client_of
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def outcome(channel: Channel) -> tuple[str, Any, Any, str]:
    """What the channel says of its last test."""
    channel.refresh_from_db()
    return (
        channel.test_outcome,
        channel.test_asked_at,
        channel.test_ended_at,
        channel.test_problem,
    )


def test_nothing_is_said_of_a_test_before_there_is_one(channel: Channel) -> None:
    assert outcome(channel) == ("none", None, None, "")


@pytest.mark.parametrize(("status", "says"), [(200, "delivered"), (202, "accepted")])
def test_a_test_that_was_taken_says_when(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, status: int, says: str
) -> None:
    asked_at = clock.now
    channel_test(channel=channel, actor=admin)
    assert outcome(channel) == ("waiting", asked_at, None, "")
    chat.answer(status)
    assert work(clock, seconds=5) == 1
    assert outcome(channel) == (says, asked_at, clock.now, "")


def test_a_test_that_was_not_taken_says_why_and_goes_on_saying_so(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    asked_at = clock.now
    channel_test(channel=channel, actor=admin)
    chat.answer(404, b"no_service")
    assert work(clock, seconds=5) == 0
    failed = ("failed", asked_at, clock.now, "It answers 404: no_service.")
    assert outcome(channel) == failed
    # Another message is taken: the channel works again, and the test was not taken all the same.
    begin(clock)
    assert work(clock) == 1
    assert outcome(channel) == failed
    assert channel.problem == ""


def test_other_messages_say_nothing_of_a_test(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    begin(clock)
    clock.passes(seconds=30)
    channel_test(channel=channel, actor=admin)
    # A test goes out before others.
    chat.answer(200)
    chat.answer(503)
    assert work(clock, seconds=5) == 1
    assert "test" in texts_in(chat, 0)
    assert outcome(channel)[0] == "delivered"
    assert channel.problem == "It answers 503."


def test_asking_again_while_a_test_waits_is_the_same_test(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    first = channel_test(channel=channel, actor=admin)
    clock.passes(seconds=3)
    again = channel_test(channel=channel, actor=admin)
    assert again.test_asked_at == first.test_asked_at == clock.now - timedelta(seconds=3)
    assert Message.objects.count() == 1
    assert work(clock, seconds=5) == 1
    clock.passes(seconds=3)
    channel_test(channel=channel, actor=admin)
    assert outcome(channel) == ("waiting", clock.now, None, "")
    assert Message.objects.count() == 2


def test_a_test_bumps_no_version(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(400)
    work(clock, seconds=5)
    assert outcome(channel)[0] == "failed"
    assert channel.version == 1


def test_a_test_whose_worker_died_failed(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    Message.objects.update(attempts=1)
    assert work(clock, seconds=5) == 0
    says, _, ended_at, problem = outcome(channel)
    assert (says, ended_at) == ("failed", clock.now)
    assert "worker ended" in problem
    # The channel is not to blame.
    assert (channel.problem, channel.failing_since) == ("", None)


def test_asking_again_once_a_worker_died_is_another_test(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    Message.objects.update(attempts=1, next_at=clock.now)
    clock.passes(seconds=1)
    channel_test(channel=channel, actor=admin)
    assert outcome(channel) == ("waiting", clock.now, None, "")
    assert work(clock, seconds=5) == 1
    assert outcome(channel)[0] == "delivered"


def test_a_test_that_waits_is_not_posted_to_a_chat_of_another_shape(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    change(channel, admin, shape="teams")
    says, _, ended_at, problem = outcome(channel)
    assert (says, ended_at) == ("failed", clock.now)
    assert "Send another test" in problem
    assert work(clock, seconds=5) == 0
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 1
    (request,) = chat.received
    assert b"AdaptiveCard" in request.body


def test_a_test_that_waits_for_nobody_ends_with_an_edit(
    channel: Channel, admin: User, clock: Clock, chat: Receiver
) -> None:
    channel_test(channel=channel, actor=admin)
    # As a process of before the upgrade ends it: it knows of no outcome.
    Message.objects.update(sent_at=clock.now)
    change(channel, admin, credential="env:WEIR_CREDENTIAL_B")
    assert outcome(channel) == ("none", None, None, "")


def test_a_test_that_waits_ends_when_its_channel_is_disabled(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    change(channel, admin, enabled=False)
    says, _, ended_at, problem = outcome(channel)
    assert (says, ended_at) == ("failed", clock.now)
    assert "disabled before" in problem
    change(channel, admin, enabled=True)
    assert outcome(channel) == ("none", None, None, "")
    assert work(clock) == 0


@pytest.mark.parametrize("values", [{"shape": "teams"}, {"credential": "env:WEIR_CREDENTIAL_B"}])
def test_what_came_of_a_test_says_nothing_of_another_credential_or_shape(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, values: dict[str, Any]
) -> None:
    channel_test(channel=channel, actor=admin)
    assert work(clock, seconds=5) == 1
    change(channel, admin, name="crew")
    assert outcome(channel)[0] == "delivered"
    change(channel, admin, **values)
    assert outcome(channel) == ("none", None, None, "")


def test_a_test_that_waits_goes_to_the_new_credential(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_CREDENTIAL_NEW_CHAT", chat.address)
    monkeypatch.delenv("WEIR_CREDENTIAL_OPS_CHAT")
    channel_test(channel=channel, actor=admin)
    change(channel, admin, credential="env:WEIR_CREDENTIAL_NEW_CHAT")
    assert outcome(channel)[0] == "waiting"
    assert work(clock, seconds=5) == 1
    assert outcome(channel)[0] == "delivered"


@pytest.mark.parametrize("answer", [200, 404])
def test_a_test_of_what_was_edited_while_it_was_posted_says_so(
    channel: Channel,
    chat: Receiver,
    admin: User,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    answer: int,
) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(answer)
    edit = EditedEnvironment(lambda: change(channel, admin, shape="teams"))
    with monkeypatch.context() as patch:
        patch.setattr("os.environ", edit)
        work(clock, seconds=5)
    says, _, _, problem = outcome(channel)
    assert (says, channel.problem) == ("failed", "")
    assert "edited meanwhile" in problem


def test_an_answer_that_comes_late_says_nothing_of_the_next_test(
    channel: Channel,
    chat: Receiver,
    admin: User,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def edit() -> None:
        change(channel, admin, enabled=False)
        change(channel, admin, enabled=True)
        channel_test(channel=channel, actor=admin)
        # Not by the call that waits for the answer to the first one.
        next_at = clock.now + timedelta(minutes=5)
        Message.objects.filter(given_up_at=None).update(next_at=next_at)

    channel_test(channel=channel, actor=admin)
    chat.answer(404)
    with monkeypatch.context() as patch:
        patch.setattr("os.environ", EditedEnvironment(edit))
        assert work(clock, minutes=1) == 0
    assert len(chat.received) == 1
    assert outcome(channel) == ("waiting", clock.now, None, "")
    assert work(clock, minutes=5) == 1
    assert outcome(channel)[0] == "delivered"


def test_why_a_test_failed_only_administrators_see(
    channel: Channel, chat: Receiver, admin: User, clock: Clock
) -> None:
    channel_test(channel=channel, actor=admin)
    chat.answer(403, b"invalid_token")
    work(clock, seconds=5)
    path = f"/api/v1/channels/{channel.public_id}"
    seen = client_of(admin).get(path).json()
    assert seen["test_outcome"] == "failed"
    assert seen["test_problem"] == "It answers 403: invalid_token."
    assert seen["test_asked_at"] < seen["test_ended_at"]
    others = client_of(make_user("viewer", Role.VIEWER)).get(path).json()
    assert others["test_outcome"] == "failed"
    assert others["test_problem"] == "Administrators see why."


@pytest.mark.parametrize(
    "values", [{"test_outcome": "waiting"}, {"test_outcome": "lost"}, {"test_outcome": "failed"}]
)
def test_an_outcome_without_its_times_cannot_be_stored(
    admin: User, allowed: None, values: dict[str, str]
) -> None:
    channel = add(admin)
    with pytest.raises(IntegrityError, match="channel_test"), transaction.atomic():
        Channel.objects.filter(pk=channel.pk).update(**values)
