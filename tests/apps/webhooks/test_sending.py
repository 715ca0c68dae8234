"""What happens is sent signed, once taken, again until it is, and never to a private address."""

import socket
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.common.errors import ApplicationError
from apps.common.outgoing.posting import post
from apps.systems.models import System
from apps.systems.services.systems import system_delete
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.services import (
    deliveries_queue,
    deliveries_tidy,
    secret_rotate,
    webhook_send,
    webhook_test,
    webhook_update,
    webhooks_hand_out,
)
from apps.webhooks.services.queue import last_event
from apps.webhooks.services.send import secrets_of
from tests.apps.webhooks.conftest import deliver, make_webhook
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.connect_proxy import proxying
from tests.factories import make_broker, make_system, make_topic, make_user
from weir.lifecycle.deliveries import DeliveryState

pytestmark = pytest.mark.django_db


def only(hook: Webhook) -> Delivery:
    return Delivery.objects.get(webhook=hook)


def test_an_edit_arrives_as_a_signed_cloud_event(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    topic = make_topic(harbour, "tides")
    assert deliver(hook) == 1
    (one,) = receiver.received
    entry = AuditEntry.objects.get(object_name="tides")
    assert one.verifies(secrets_of(hook)[0])
    assert not one.verifies("whsec_" + "A" * 43 + "=")
    event = one.event
    assert one.headers["content-type"] == "application/cloudevents+json"
    assert (event.get_id(), event.get_type()) == (str(entry.public_id), "weir.topic.create")
    assert event.get_subject() == f"topic/{topic.public_id}"
    assert event.get_source().endswith(f"/systems/{harbour.public_id}")
    assert event.get_time() == entry.at
    assert int(event.get_extension("sequence")) == entry.event.number
    assert event.get_data()["object_name"] == "tides"
    assert event.get_data()["system_name"] == "harbour"
    row = only(hook)
    assert (row.state, row.attempts, one.id) == ("delivered", 1, str(row.public_id))
    assert deliver(hook) == 0, "nothing is sent twice"


def test_types_and_systems_choose(receiver: Receiver, harbour: System, admin: User) -> None:
    other = make_system("other")
    hook, _ = make_webhook(
        receiver.address,
        admin,
        types=["weir.topic.*"],
        all_systems=False,
        systems=[harbour],
    )
    make_topic(other, "elsewhere")
    make_broker(harbour, "b1")
    make_topic(harbour, "here")
    deliver(hook)
    assert [one.event.get_data()["object_name"] for one in receiver.received] == ["here"]


def test_events_of_a_webhook_go_in_their_order(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    for number in range(20):
        make_topic(harbour, f"t{number}")
    assert deliver(hook) == 20
    sequence = [one.event.get_extension("sequence") for one in receiver.received]
    assert sequence == sorted(sequence)


def test_a_long_answer_is_cut(hook: Webhook, receiver: Receiver, harbour: System) -> None:
    receiver.answer(500, b"x" * 300_000)
    make_topic(harbour, "tides")
    deliver(hook)
    (one,) = only(hook).tries.all()
    assert len(one.response) == 4_000


def test_rotation_signs_with_both_secrets_until_the_time_is_over(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    (before,) = secrets_of(hook)
    hook, after = secret_rotate(
        webhook=hook,
        actor=admin,
        expected_version=hook.version,
        keep_previous=timedelta(hours=1),
    )
    assert after != before
    make_topic(harbour, "tides")
    deliver(hook)
    assert receiver.received
    assert all(one.verifies(before) and one.verifies(after) for one in receiver.received)
    Webhook.objects.filter(pk=hook.pk).update(previous_until=timezone.now())
    make_topic(harbour, "ebb")
    deliver(hook)
    last = receiver.received[-1]
    assert last.verifies(after)
    assert not last.verifies(before)
    assert before not in str(list(AuditEntry.objects.values()))
    assert after not in str(list(AuditEntry.objects.values()))


def test_private_address_is_not_dialled_whatever_its_name_says(
    hook: Webhook,
    receiver: Receiver,
    harbour: System,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.WEIR_PRIVATE_NETWORKS = ()
    port = receiver.address.split(":")[2].split("/")[0]

    def lookup(host: str, *_: Any, **__: Any) -> list[Any]:
        assert host == "hooks.example.com"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(port)))]

    monkeypatch.setattr("apps.common.outgoing.dialling.socket.getaddrinfo", lookup)
    Webhook.objects.filter(pk=hook.pk).update(address=f"http://hooks.example.com:{port}/")
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    assert receiver.received == []
    assert "127.0.0.1 is no public address" in only(hook).problem


def test_an_edit_while_it_is_sent_counts_for_what_comes_after(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "tides")
    make_topic(harbour, "ebb")

    with receiving() as other, pytest.MonkeyPatch.context() as patch:

        def edit_and_post(*args: Any) -> Any:
            Webhook.objects.filter(pk=hook.pk).update(
                version=hook.version + 1, address=other.address
            )
            return post(*args)

        patch.setattr("apps.webhooks.services.send.post", edit_and_post)
        assert deliver(hook) == 2
        names = [
            [one.event.get_data()["object_name"] for one in each.received]
            for each in (receiver, other)
        ]
    assert names == [["tides"], ["ebb"]]


def test_two_workers_do_not_send_to_one_webhook(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    Webhook.objects.filter(pk=hook.pk).update(
        claimed_by=uuid.uuid4(), claimed_until=timezone.now() + timedelta(seconds=30)
    )
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    Webhook.objects.filter(pk=hook.pk).update(claimed_until=timezone.now())
    assert webhook_send(hook.public_id) == 1


def test_two_webhooks_are_sent_to_at_a_time(
    hook: Webhook, receiver: Receiver, harbour: System, admin: User
) -> None:
    others = [make_webhook(receiver.address, admin, name=name)[0] for name in ("a", "b")]
    for other in others:
        Webhook.objects.filter(pk=other.pk).update(
            claimed_by=uuid.uuid4(), claimed_until=timezone.now() + timedelta(seconds=30)
        )
    make_topic(harbour, "tides")
    assert deliver(hook) == 0
    assert webhooks_hand_out() == []
    Webhook.objects.filter(pk=others[0].pk).update(claimed_until=timezone.now())
    assert str(hook.public_id) in webhooks_hand_out()
    assert webhook_send(hook.public_id) >= 1


def test_test_event_is_sent_at_once(hook: Webhook, receiver: Receiver, admin: User) -> None:
    Webhook.objects.filter(pk=hook.pk).update(retry_at=timezone.now() + timedelta(hours=1))
    delivery = webhook_test(webhook=hook, actor=admin)
    assert webhook_send(hook.public_id) == 1
    (one,) = receiver.received
    assert (one.event.get_type(), one.event.get_id()) == (
        "weir.webhook.test",
        str(delivery.public_id),
    )


def test_private_kinds_reach_only_who_names_them(receiver: Receiver, admin: User) -> None:
    everything, _ = make_webhook(receiver.address, admin)
    make_user("ines")
    deliver(everything)
    assert receiver.received == []
    named, _ = make_webhook(receiver.address, admin, name="people", types=["weir.user.*"])
    make_user("jon")
    deliver(named)
    assert receiver.types == ["weir.user.create"]


def test_deliveries_that_ended_long_ago_are_deleted(
    hook: Webhook, receiver: Receiver, harbour: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        make_topic(harbour, name)
    deliver(hook)
    oldest = Delivery.objects.order_by("id").first()
    assert oldest is not None
    old = parse_datetime("2026-01-01T00:00:00Z")
    Delivery.objects.filter(pk=oldest.pk).update(ended_at=old)
    Delivery.objects.create(webhook=hook, type="weir.x.y", subject="x/1", created_at=old)
    deliveries_tidy()
    assert Delivery.objects.count() == 3
    monkeypatch.setattr("apps.webhooks.services.queue.PER_WEBHOOK", 1)
    deliveries_tidy()
    states = sorted(Delivery.objects.values_list("state", flat=True))
    assert states == [DeliveryState.DELIVERED, DeliveryState.WAITING]


def test_queueing_twice_makes_one_delivery(
    hook: Webhook, harbour: System, receiver: Receiver
) -> None:
    make_topic(harbour, "tides")
    deliver(hook)
    Webhook.objects.filter(pk=hook.pk).update(read_to=hook.read_to)
    deliveries_queue()
    assert Delivery.objects.filter(webhook=hook, type="weir.topic.create").count() == 1
    hook.refresh_from_db()
    assert hook.read_to == last_event()


def test_a_system_that_is_deleted_is_heard_of_to_its_end(
    receiver: Receiver, harbour: System, admin: User
) -> None:
    hook, _ = make_webhook(
        receiver.address, admin, types=["*"], all_systems=False, systems=[harbour]
    )
    topic = make_topic(harbour, "tides")
    harbour.refresh_from_db()
    system_delete(system=harbour, actor=admin, expected_version=harbour.version)
    deliver(hook)
    assert receiver.types == ["weir.topic.create", "weir.system.delete"]
    assert receiver.received[0].event.get_subject() == f"topic/{topic.public_id}"
    assert receiver.received[1].event.get_data()["system_name"] == "harbour"
    # Without systems it can still be switched off; only who chooses has to choose one.
    hook.refresh_from_db()
    hook = webhook_update(
        webhook=hook, actor=admin, expected_version=hook.version, values={"enabled": False}
    )
    assert not hook.enabled
    with pytest.raises(ApplicationError, match="Choose systems"):
        webhook_update(
            webhook=hook, actor=admin, expected_version=hook.version, values={"systems": []}
        )


def test_a_webhook_that_is_deleted_while_it_is_sent_to_is_left(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    make_topic(harbour, "tides")
    make_topic(harbour, "ebb")
    with pytest.MonkeyPatch.context() as patch:

        def delete_and_post(*args: Any) -> Any:
            Webhook.objects.filter(pk=hook.pk).delete()
            return post(*args)

        patch.setattr("apps.webhooks.services.send.post", delete_and_post)
        deliver(hook)
    assert len(receiver.received) == 1
    assert not Delivery.objects.exists()


def test_an_answer_counts_though_its_body_never_ends(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    receiver.answer(200, b"cut", Content_Length="1000")
    make_topic(harbour, "tides")
    assert deliver(hook) == 1
    (one,) = only(hook).tries.all()
    assert (one.status, one.failure) == (200, "")


def test_what_an_answer_repeats_of_the_address_is_masked(
    hook: Webhook, receiver: Receiver, harbour: System
) -> None:
    receiver.answer(404, b"Cannot POST /hook?token=of-the-chat, token of-the-chat")
    make_topic(harbour, "tides")
    deliver(hook)
    (one,) = only(hook).tries.all()
    assert "Cannot POST" in one.response
    assert "of-the-chat" not in one.response


def test_events_go_by_the_proxy(
    hook: Webhook, receiver: Receiver, harbour: System, settings: Any
) -> None:
    make_topic(harbour, "tides")
    with proxying() as proxy:
        settings.WEIR_OUTGOING_PROXY = proxy.settings()
        proxy.answer = b"HTTP/1.1 403 Forbidden\r\n\r\n"
        assert deliver(hook) == 0
        assert "(403). Have it allowed there" in only(hook).problem
        assert receiver.received == []
        proxy.answer = b""
        Webhook.objects.update(retry_at=None)
        Delivery.objects.update(next_at=timezone.now())
        assert deliver(hook) == 1
    assert len(receiver.received) == 1
    assert proxy.requests == [receiver.address.split("/")[2]] * 2
