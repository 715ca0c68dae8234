"""An installation with a mail server and a chat, people with addresses, and a time of its own."""

import json
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.inbox.models import Item
from apps.notifications.models import Channel
from apps.notifications.services import channel_create, channel_update, chats_post, notices_note
from tests.apps.webhooks.receiver import Receiver, receiving
from tests.factories import make_user
from tests.factories.fleet import Harbour, make_harbour
from tests.mail_server import MailServer, serving

REFERENCE = "env:WEIR_CREDENTIAL_OPS_CHAT"


class Clock:
    """The time, which passes only where a test says so."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("django.utils.timezone.now", lambda: clock.now)
    return clock


@pytest.fixture
def mail(settings: Any) -> Iterator[MailServer]:
    with serving() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "weir@example.org"
        yield server


@pytest.fixture
def harbour(db: None) -> Harbour:
    harbour = make_harbour()
    harbour.system.refresh_from_db()
    return harbour


@pytest.fixture
def editor(db: None) -> User:
    return addressed("editor", Role.EDITOR)


@pytest.fixture
def approver(db: None) -> User:
    return addressed("approver", Role.APPROVER)


def addressed(name: str, *roles: Role) -> User:
    person = make_user(name, *roles)
    User.objects.filter(pk=person.pk).update(email=f"{name}@example.org")
    person.refresh_from_db()
    return person


@pytest.fixture
def allowed(settings: Any) -> None:
    """This machine may be reached, without TLS."""
    settings.WEIR_PLAIN_HTTP = True
    settings.WEIR_PRIVATE_NETWORKS = (ip_network("127.0.0.0/8"),)
    settings.WEIR_PUBLIC_URL = "https://weir.example.org"


@pytest.fixture
def chat(allowed: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A chat on this machine, to whose webhook the credential leads."""
    with receiving() as receiver:
        monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT", receiver.address)
        yield receiver


@pytest.fixture
def channel(chat: Receiver, admin: User) -> Channel:
    return add(admin)


def add(actor: User, **values: Any) -> Channel:
    given = {"name": "ops", "shape": "slack", "credential": REFERENCE, **values}
    return channel_create(actor=actor, values=given)


def change(channel: Channel, actor: User, **values: Any) -> Channel:
    channel.refresh_from_db()
    return channel_update(
        channel=channel, actor=actor, expected_version=channel.version, values=values
    )


def begin(clock: Clock, title: str = "1 agent is silent", **values: Any) -> Item:
    """Something begins to be known."""
    return Item.objects.create(
        **{
            "kind": "agent_silent",
            "about": title[:64],
            "title": title,
            "page": "/systems/1",
            "waits": False,
            "since": clock.now,
            **values,
        }
    )


def work(clock: Clock, **time: float) -> int:
    """What coordinator and worker do after a while. Returns how many messages were taken."""
    clock.passes(**(time or {"seconds": 30}))
    notices_note()
    return chats_post()


def texts_in(chat: Receiver, number: int = -1) -> str:
    """All texts of a message that came, in their order."""
    body = json.loads(chat.received[number].body)
    texts = [block.get("text", {}) for block in body["blocks"]]
    texts += [one for block in body["blocks"] for one in block.get("elements", [])]
    return "\n".join(str(text.get("text", "")) for text in texts)
