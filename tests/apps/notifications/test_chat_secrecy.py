"""The address of an incoming webhook lets whoever has it post: however posting to it fails, nothing
that is stored, logged or answered holds it, or its path."""

import logging
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.db import connection

from apps.accounts.models import User
from apps.inbox.services import items_keep
from apps.notifications.models import Channel
from apps.notifications.services import channel_test
from tests.apps.notifications.conftest import Clock, begin, work
from tests.apps.webhooks.receiver import Receiver
from tests.conftest import client_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

PATH = "/workflows/T0WORKSPACE/B0CHANNEL/triggers/manual-paths-invoke"
QUERY = "api-version=2016-06-01&sig=a-signature-that-posts"
TARGET = f"{PATH}?{QUERY}"
Fail = Callable[[Receiver, pytest.MonkeyPatch], str]
"""Makes posting fail in one way. Returns the address of the webhook."""


def at(receiver: Receiver) -> str:
    return f"http://{urlsplit(receiver.address).netloc}{TARGET}"


def has_no_address(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    return f"https://hooks.chat.invalid{TARGET}"


def is_private(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    return f"https://10.1.2.3{TARGET}"


def refuses_connections(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}{TARGET}"


def speaks_no_tls(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for _ in range(2):
                caller, _ = listener.accept()
                with caller:
                    caller.recv(4096)
                    caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    return f"https://127.0.0.1:{listener.getsockname()[1]}{TARGET}"


def hangs(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    receiver.held = threading.Event()
    patch.setattr("apps.common.outgoing.posting.WHOLE_S", 0.5)
    return at(receiver)


def answers(status: int, **headers: str) -> Fail:
    def fail(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
        address = at(receiver)
        given = {name: text.format(address=address) for name, text in headers.items()}
        for _ in range(2):
            receiver.answer(status, f"no webhook at {address}, {TARGET}, {PATH}".encode(), **given)
        return address

    return fail


def breaks(receiver: Receiver, patch: pytest.MonkeyPatch) -> str:
    def stream(client: httpx.Client, method: str, address: str, **_: Any) -> Any:
        raise RuntimeError(f"{method} {address} broke at {TARGET}")

    patch.setattr(httpx.Client, "stream", stream)
    return at(receiver)


WAYS: dict[str, tuple[Fail, str]] = {
    "DNS": (has_no_address, "has no address"),
    "private": (is_private, "is no public address"),
    "refused": (refuses_connections, "refused"),
    "TLS": (speaks_no_tls, "SSL"),
    "timeout": (hangs, "No answer within"),
    "400": (answers(400), "It answers 400: no webhook at ***"),
    "404": (answers(404), "It answers 404: no webhook at ***"),
    "503": (answers(503), "It answers 503: no webhook at ***"),
    "redirect": (answers(308, Location="{address}"), "It sends on elsewhere (308)"),
    "fault": (breaks, "POST *** broke at ***"),
}


def stored() -> str:
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows: list[str] = []
        for table in tables:
            name = connection.ops.quote_name(table)
            cursor.execute(f"SELECT CAST(row_to_json(t) AS text) FROM {name} t")
            rows += [str(text) for (text,) in cursor.fetchall()]
    return "\n".join(rows)


@pytest.mark.parametrize("way", WAYS)
def test_however_posting_fails_the_address_is_nowhere(
    channel: Channel,
    chat: Receiver,
    admin: User,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    way: str,
) -> None:
    fail, says = WAYS[way]
    monkeypatch.setenv("WEIR_CREDENTIAL_OPS_CHAT", fail(chat, monkeypatch))
    begin(clock)
    channel_test(channel=channel, actor=admin)
    with caplog.at_level(logging.DEBUG):
        assert work(clock) == 0
        items_keep()
        api = client_of(admin)
        path = f"/api/v1/channels/{channel.public_id}"
        body = api.get(path).json()
        shown = [
            api.get(address).content.decode()
            for address in (path, "/api/v1/channels", "/api/v1/inbox", "/api/v1/audit")
        ]
    # Both the test and the message failed, in this way.
    assert says in body["problem"]
    assert says in body["test_problem"]
    rows = stored()
    assert says.split(":")[0] in rows
    logs = "\n".join([caplog.text, *(str(record.__dict__) for record in caplog.records)])
    for text in (rows, logs, *shown):
        for secret in (TARGET, PATH, QUERY, "a-signature-that-posts", "manual-paths-invoke"):
            assert secret not in text
