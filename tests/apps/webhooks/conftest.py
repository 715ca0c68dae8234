"""A webhook whose receiver is on this machine."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from apps.accounts.models import User
from apps.audit.services import events_number
from apps.systems.models import System
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.services import deliveries_queue, webhook_create, webhook_send
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.factories import make_system


@pytest.fixture
def allowed(settings: Any) -> None:
    """This machine may be reached, without TLS."""
    settings.WEIR_PLAIN_HTTP = True
    settings.WEIR_PRIVATE_NETWORKS = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def receiver(allowed: None) -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def harbour(db: None) -> System:
    return make_system("harbour")


@pytest.fixture
def hook(receiver: Receiver, harbour: System, admin: User) -> Webhook:
    return make_webhook(receiver.address, admin)[0]


def make_webhook(address: str, actor: User, **values: Any) -> tuple[Webhook, str]:
    """A webhook that hears of all systems from now on, and its secret."""
    events_number()
    hook, secret = webhook_create(
        actor=actor,
        values={"name": "tickets", "address": address, "types": ["*"], **values},
    )
    # That it was made is an event as well; tests look at what comes after it.
    events_number()
    deliveries_queue()
    Delivery.objects.all().delete()
    return hook, secret


def deliver(hook: Webhook) -> int:
    """What coordinator, beat and a worker do within a while. Returns how many were taken."""
    events_number()
    deliveries_queue()
    return webhook_send(hook.public_id)


def due(hook: Webhook) -> None:
    """All pauses are over."""
    Webhook.objects.filter(pk=hook.pk).update(retry_at=None)
    Delivery.objects.filter(webhook=hook, state="waiting").update(next_at="2026-01-01T00:00:00Z")
