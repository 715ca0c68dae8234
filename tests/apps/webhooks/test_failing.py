"""What is not taken is sent again for days, holds nothing else up, and comes to an end."""

import socket
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.outgoing.posting import post
from apps.systems.models import System
from apps.webhooks.domain import retries
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.services import (
    deliveries_tidy,
    delivery_repeat,
    secret_rotate,
    webhook_send,
    webhook_test,
    webhook_update,
    webhooks_hand_out,
)
from apps.webhooks.services.send import secrets_of
from tests.apps.webhooks.conftest import deliver, due, make_webhook
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.factories import make_topic
from weir.lifecycle.deliveries import DeliveryState

pytestmark = pytest.mark.django_db


def only(hook: Webhook) -> Delivery:
    return Delivery.objects.get(webhook=hook)


def enable(hook: Webhook, actor: User) -> Webhook:
    return webhook_update(
        webhook=hook, actor=actor, expected_version=hook.version, values={"enabled": True}
    )


def test_what_fails_is_sent_again_as_the_same_message(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "tides")
    receiver.answer(500, b"out of order")
    assert deliver(hook) == 0
    row = only(hook)
    assert (row.state, row.attempts, row.problem) == ("waiting", 1, "It answers 500.")
    assert row.next_at > timezone.now()
    assert webhook_send(hook.public_id) == 0
    assert len(receiver.received) == 1
    due(hook)
    assert webhook_send(hook.public_id) == 1
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    assert second.verifies(secrets_of(hook)[0])
    row.refresh_from_db()
    assert (row.state, row.attempts, row.problem) == ("delivered", 2, "")
    assert [(one.status, one.response) for one in row.tries.all()] == [
        (204, ""),
        (500, "out of order"),
    ]


def test_a_failure_holds_nothing_newer_up(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    receiver.answer(500)
    for name in ("a", "b", "c"):
        make_topic(harbour, name)
    assert deliver(hook) == 2
    names = [one.event.get_data()["object_name"] for one in receiver.received]
    assert names == ["a", "b", "c"]


def test_an_address_that_fails_at_all_is_left_alone_for_a_while(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    for number in range(9):
        receiver.answer(503)
        make_topic(harbour, f"t{number}")
    made_at = hook.updated_at
    deliver(hook)
    assert len(receiver.received) == retries.FAILING
    hook.refresh_from_db()
    assert hook.updated_at > made_at
    assert hook.retry_at is not None
    assert hook.retry_at > timezone.now()
    assert webhook_send(hook.public_id) == 0
    assert webhooks_hand_out() == []


def test_retry_after_is_waited_for(hook: Webhook, receiver: Receiver, harbour: System) -> None:
    receiver.answer(429, Retry_After="120")
    make_topic(harbour, "tides")
    make_topic(harbour, "ebb")
    deliver(hook)
    assert len(receiver.received) == 1
    hook.refresh_from_db()
    assert hook.retry_at is not None
    assert timedelta(seconds=100) < hook.retry_at - timezone.now() <= timedelta(seconds=120)
    waits = Delivery.objects.filter(attempts=1).get()
    assert waits.next_at - timezone.now() > timedelta(seconds=100)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirections_are_not_followed(
    hook: Webhook, receiver: Receiver, harbour: System, status: int
) -> None:
    receiver.answer(status, Location=receiver.address)
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    assert len(receiver.received) == 1
    assert "not followed" in only(hook).problem


def test_gone_disables_at_once(hook: Webhook, receiver: Receiver, harbour: System) -> None:
    receiver.answer(410)
    make_topic(harbour, "tides")
    make_topic(harbour, "ebb")
    deliver(hook)
    hook.refresh_from_db()
    assert len(receiver.received) == 1
    assert not hook.enabled
    assert "410" in hook.disabled_because
    entry = AuditEntry.objects.get(object_id=hook.public_id, action="disable")
    assert (entry.actor_name, entry.reason) == ("Weir", hook.disabled_because)


def test_days_of_nothing_but_failures_disable(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    make_topic(harbour, "tides")
    receiver.answer(500)
    deliver(hook)
    since = timezone.now() - retries.GIVEN_UP_AFTER
    Webhook.objects.filter(pk=hook.pk).update(failing_since=since + timedelta(minutes=5))
    due(hook)
    receiver.answer(500)
    webhook_send(hook.public_id)
    hook.refresh_from_db()
    assert hook.enabled
    Webhook.objects.filter(pk=hook.pk).update(failing_since=since - timedelta(seconds=1))
    due(hook)
    receiver.answer(500)
    webhook_send(hook.public_id)
    hook.refresh_from_db()
    assert not hook.enabled
    assert "5 days" in hook.disabled_because
    # Enabled again it hears of what happens from then on, and what waits is sent.
    make_topic(harbour, "missed")
    hook = enable(hook, admin)
    make_topic(harbour, "ebb")
    deliver(hook)
    sent = [one.event.get_data().get("object_name") for one in receiver.received[3:]]
    assert sent == ["tickets", "ebb", "tides"]
    hook.refresh_from_db()
    assert (hook.failing_since, hook.problem, hook.disabled_because) == (None, "", "")


def test_what_waited_too_long_while_disabled_is_given_up(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    make_topic(harbour, "tides")
    receiver.answer(410)
    deliver(hook)
    long_ago = timezone.now() - retries.KEPT_WHILE_DISABLED - timedelta(minutes=1)
    Delivery.objects.update(created_at=long_ago)
    hook.refresh_from_db()
    enable(hook, admin)
    row = Delivery.objects.get(subject__startswith="topic/")
    assert (row.state, row.problem) == ("given_up", "The webhook was disabled.")


def test_a_delivery_is_given_up_after_the_last_attempt_and_can_be_sent_again(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "tides")
    for _ in range(len(retries.PAUSES_S) + 1):
        receiver.answer(500)
        due(hook)
        deliver(hook)
    row = only(hook)
    assert (row.state, row.attempts) == ("given_up", len(retries.PAUSES_S) + 1)
    due(hook)
    assert deliver(hook) == 0
    delivery_repeat(delivery=row)
    assert deliver(hook) == 1
    assert {one.id for one in receiver.received} == {str(row.public_id)}


def test_no_answer_is_a_failure(hook: Webhook, harbour: System, receiver: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
    Webhook.objects.filter(pk=hook.pk).update(address=address)
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    (one,) = only(hook).tries.all()
    assert (one.status, bool(one.failure)) == (None, True)


def test_a_slow_receiver_is_given_up_on_time(
    hook: Webhook, harbour: System, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.common.outgoing.posting.WHOLE_S", 0.3)
    receiver.held = threading.Event()
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    assert only(hook).problem.startswith("No answer within")


def test_what_somebody_waits_for_goes_before_a_backlog_of_an_address_left_alone(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    for number in range(retries.FAILING + 5):
        receiver.answer(503)
        make_topic(harbour, f"t{number}")
    deliver(hook)
    hook.refresh_from_db()
    assert hook.retry_at is not None
    tried = Delivery.objects.filter(webhook=hook, attempts=1).earliest("id")
    receiver.answers.clear()
    receiver.received.clear()
    receiver.answer(503)
    receiver.answer(503)
    delivery_repeat(delivery=tried)
    test = webhook_test(webhook=hook, actor=admin)
    assert webhooks_hand_out() == [str(hook.public_id)]
    webhook_send(hook.public_id)
    assert [one.id for one in receiver.received] == [str(tried.public_id), str(test.public_id)]
    assert webhooks_hand_out() == [], "it is left alone again"
    # What is taken ends the pause, and the backlog follows.
    webhook_test(webhook=hook, actor=admin)
    webhook_send(hook.public_id)
    assert not Delivery.objects.filter(webhook=hook, attempts=0).exists()


def test_a_stream_of_new_events_does_not_hold_up_what_failed(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    receiver.answer(500)
    make_topic(harbour, "failed")
    deliver(hook)
    due(hook)
    for number in range(12):
        make_topic(harbour, f"t{number}")
    deliver(hook)
    names = [one.event.get_data()["object_name"] for one in receiver.received]
    assert names.index("failed", 1) < len(names) - 1
    assert [name for name in names if name != "failed"] == [f"t{n}" for n in range(12)]


def test_another_secret_key_is_said_and_nothing_is_sent(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User, settings: Any
) -> None:
    settings.SECRET_KEY = "another key of the installation, since the machine was set up anew"
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    assert receiver.received == []
    hook.refresh_from_db()
    assert "Make a new secret" in hook.problem
    hook, secret = secret_rotate(
        webhook=hook,
        actor=admin,
        expected_version=hook.version,
        keep_previous=timedelta(hours=1),
    )
    assert hook.problem == ""
    assert deliver(hook) == 2
    assert all(one.verifies(secret) for one in receiver.received)


@pytest.mark.parametrize("location", ["https://xn--a/x", "//xn--0", "http://[", "http://a:999999/"])
def test_a_redirection_that_cannot_be_read_is_a_failed_attempt(
    hook: Webhook, receiver: Receiver, harbour: System, location: str
) -> None:
    receiver.answer(302, Location=location)
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    row = only(hook)
    assert row.problem
    assert row.tries.count() == 1


def test_workers_that_die_in_every_attempt_come_to_an_end(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    class Killed(BaseException):
        """What ends a worker in the middle."""

    def die(*_: Any) -> Any:
        raise Killed

    make_topic(harbour, "tides")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("apps.webhooks.services.send.post", die)
        for attempt in range(1, retries.MOST_ATTEMPTS + 1):
            with pytest.raises(Killed):
                deliver(hook)
            row = only(hook)
            assert (row.state, row.attempts) == (DeliveryState.WAITING, attempt)
            # Another worker takes it as soon as it may, however many attempts there were.
            assert row.next_at - timezone.now() < timedelta(seconds=61)
            due(hook)
        assert deliver(hook) == 0
    assert only(hook).state == DeliveryState.GIVEN_UP
    assert receiver.received == []


@pytest.mark.parametrize("status", [410, 503])
def test_what_the_address_before_answers_says_nothing_of_the_one_now(
    hook: Webhook, receiver: Receiver, harbour: System, status: int, admin: User
) -> None:
    make_topic(harbour, "tides")
    receiver.answer(status, Retry_After="3600")
    edited = threading.Event()
    with receiving() as other, pytest.MonkeyPatch.context() as patch:

        def edit_and_post(*args: Any) -> Any:
            if not edited.is_set():
                edited.set()
                webhook_update(
                    webhook=hook,
                    actor=admin,
                    expected_version=hook.version,
                    values={"address": other.address},
                )
            return post(*args)

        patch.setattr("apps.webhooks.services.send.post", edit_and_post)
        deliver(hook)
        patch.undo()
        hook.refresh_from_db()
        assert (hook.enabled, hook.retry_at, hook.failures) == (True, None, 0)
        due(hook)
        deliver(hook)
        assert other.types == ["weir.topic.create", "weir.webhook.update"]


def test_one_webhook_that_cannot_be_served_keeps_no_other_from_it(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    with receiving() as other:
        second, _ = make_webhook(other.address, admin, name="another")
        # Nothing that any version of Weir would write.
        Webhook.objects.filter(pk=hook.pk).update(types=7)
        make_topic(harbour, "tides")
        deliver(second)
        assert other.types == ["weir.topic.create"]


def test_silence_after_a_message_that_was_given_up_is_no_failure(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "refused")
    for _ in range(retries.MOST_ATTEMPTS):
        receiver.answer(400)
        due(hook)
        deliver(hook)
    hook.refresh_from_db()
    assert only(hook).state == DeliveryState.GIVEN_UP
    assert hook.failing_since is None
    due(hook)
    receiver.answer(503)
    make_topic(harbour, "tides")
    deliver(hook)
    hook.refresh_from_db()
    assert hook.enabled
    assert hook.failing_since is not None


def test_what_waits_for_a_disabled_webhook_is_given_up_after_days(
    hook: Webhook, harbour: System, receiver: Receiver
) -> None:
    receiver.answer(410)
    make_topic(harbour, "tides")
    deliver(hook)
    row = Delivery.objects.get(webhook=hook, type="weir.topic.create")
    deliveries_tidy()
    row.refresh_from_db()
    assert row.state == DeliveryState.WAITING
    long_ago = timezone.now() - retries.KEPT_WHILE_DISABLED - timedelta(minutes=1)
    Delivery.objects.filter(pk=row.pk).update(created_at=long_ago)
    deliveries_tidy()
    row.refresh_from_db()
    assert row.state == DeliveryState.GIVEN_UP
