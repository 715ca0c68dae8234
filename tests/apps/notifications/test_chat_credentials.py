"""Credentials of channels go where they may, and nobody sees where that is."""

import logging
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured

from apps.accounts.models import User
from apps.audit.models import AuditEntry
from apps.notifications.models import Channel, Message
from tests.apps.notifications.conftest import Clock, add, begin, change, work
from tests.apps.webhooks.receiver import Receiver

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "WEIR_CREDENTIAL_OPS_CHAT is not set where this process runs."),
        ("weir:correct horse", "holds no address"),
        ("https://[correct-horse", "holds no address"),
        ("https://127.0.0.1:correct-horse/x", "holds no address"),
        ("https://correct-horse@127.0.0.1/x", "holds no address"),
        ("https://10.1.2.3/correct-horse", "is no public address"),
        ("https://correct-horse.invalid/correct-horse", "has no address"),
    ],
)
def test_a_credential_that_leads_nowhere_is_kept_for_and_not_shown(
    channel: Channel,
    chat: Receiver,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    value: str | None,
    problem: str,
) -> None:
    if value is None:
        monkeypatch.delenv("WEIR_CREDENTIAL_OPS_CHAT")
    else:
        monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT", value)
    begin(clock)
    assert work(clock) == 0
    channel.refresh_from_db()
    assert problem in channel.problem
    for text in (channel.problem, Message.objects.get().problem, caplog.text):
        assert "correct" not in text
        assert "10.1.2.3" not in text
    # Whoever mends it does so where the worker runs, and edits nothing here.
    monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT", chat.address)
    assert work(clock, minutes=1) == 1


def test_a_credential_goes_to_its_servers_alone(
    channel: Channel, chat: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT_HOSTS", "hooks.slack.com")
    begin(clock)
    assert work(clock) == 0
    channel.refresh_from_db()
    assert "is for hooks.slack.com" in channel.problem
    assert "127.0.0.1" not in channel.problem
    assert chat.received == []
    monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT_HOSTS", "127.0.0.1")
    assert work(clock, minutes=1) == 1


def test_a_credential_may_be_a_file(
    chat: Receiver, admin: User, clock: Clock, settings: Any, tmp_path: Path
) -> None:
    settings.WEIR_CREDENTIALS_DIR = tmp_path
    (tmp_path / "ops-chat").write_text(f"{chat.address}\n")
    add(admin, credential=f"file:{tmp_path}/ops-chat")
    begin(clock)
    assert work(clock) == 1


def test_an_address_is_never_stored_shown_or_logged(
    channel: Channel, chat: Receiver, admin: User, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    assert configured.LOGGING["loggers"]["httpx"]["level"] == "WARNING"
    begin(clock)
    port = chat.address.split(":")[2].split("/")[0]
    echo = f"no channel at {chat.address}, token of-the-chat, 127.0.0.1:{port}".encode()
    chat.answer(404, echo)
    with caplog.at_level(logging.WARNING):
        assert work(clock) == 0
    change(channel, admin, credential="env:WEIR_CREDENTIAL_ELSEWHERE")
    channel.refresh_from_db()
    rows = [
        *Channel.objects.values(),
        *Message.objects.values(),
        *AuditEntry.objects.filter(object_kind="channel").values(),
    ]
    text = f"{rows} {caplog.text}"
    assert "of-the-chat" not in text
    assert "127.0.0.1" not in text
    changed = AuditEntry.objects.get(object_kind="channel", action="update")
    assert (changed.before, changed.after) == (
        {"credential": "the one before"},
        {"credential": "another"},
    )
