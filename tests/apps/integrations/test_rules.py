"""Which addresses may be dialled, and what is masked."""

import base64
import json
import socket
import ssl
import threading
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.common.outgoing.addresses import refusal_of
from apps.common.outgoing.dialling import CheckedTransport, ForbiddenAddress
from apps.common.outgoing.masking import KEPT, masked


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1"),
        *("fe80::1%eth0", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "2002:808:808::", "ff02::1", "192.0.2.1"),
    ],
)
def test_private_address_is_refused(address: str) -> None:
    assert "no public address" in refusal_of(address, ())


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_address_is_dialled(address: str) -> None:
    assert refusal_of(address, ()) == ""


def test_named_network_is_dialled_and_no_other() -> None:
    networks = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
    assert refusal_of("10.1.200.3", networks) == ""
    assert refusal_of("::ffff:10.1.0.1", networks) == ""
    assert refusal_of("fd12::1", networks) == ""
    assert refusal_of("10.2.0.1", networks)
    assert refusal_of("127.0.0.1", networks)


def test_name_that_leads_to_another_address_when_dialled_is_not_dialled_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first look-up says public, every later one this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    port, dialled, looked_up = listener.getsockname()[1], [], []
    real_connect, real = socket.create_connection, socket.getaddrinfo

    def connect(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
        dialled.append(address[0])
        raise OSError("stop here")

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        looked_up.append(host)
        address = "93.184.216.34" if len(looked_up) == 1 else "127.0.0.1"
        return real(address, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(httpx.ConnectError):
        httpx.Client(transport=CheckedTransport(())).get(f"http://rebind.example.org:{port}/")
    assert dialled == ["93.184.216.34"]
    assert looked_up == ["rebind.example.org"]
    listener.close()
    assert real_connect is not connect


def test_name_of_this_machine_is_refused() -> None:
    with pytest.raises(ForbiddenAddress, match="no public address"):
        httpx.Client(transport=CheckedTransport(())).get("http://localhost:9/")


def test_certificate_is_checked_for_the_name_not_for_the_address() -> None:
    """The server sees the name that was asked for, although an address is dialled."""
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _socket, name, _context: names.append(name)  # type: ignore[assignment]
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        accepted, _ = listener.accept()
        try:
            context.wrap_socket(accepted, server_side=True)
        except (ssl.SSLError, OSError):
            accepted.close()

    thread = threading.Thread(target=serve)
    thread.start()
    port = listener.getsockname()[1]
    transport = CheckedTransport((ip_network("127.0.0.0/8"),))
    with pytest.raises(httpx.ConnectError):
        httpx.Client(transport=transport).get(f"https://localhost:{port}/")
    thread.join()
    listener.close()
    assert names == ["localhost"]


SECRETS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=("Cs", "Cc")),
    min_size=6,
    max_size=40,
).filter(lambda text: len(text.partition(":")[2]) != 1)


@given(secret=SECRETS, before=st.text(max_size=30), after=st.text(max_size=30))
def test_secret_is_masked_however_it_is_written(secret: str, before: str, after: str) -> None:
    encoded = base64.b64encode(secret.encode()).decode()
    for form in (secret, encoded, json.dumps(secret)[1:-1], f"Basic {encoded}"):
        text = masked(f"{before} {form} {after}", [secret])
        assert form not in text or form in f"{before} *** {after}"


@pytest.mark.parametrize(
    "text",
    [
        '{"user": "x", "password": "hunter22"}',
        '{"access_token":"hunter22","a":1}',
        '{"client-secret" : "hunter22"}',
        '{"apiKey": "hunter22',
        "Authorization: Bearer hunter22",
        '{"cookie": "a\\"hunter22"}',
    ],
)
def test_member_named_like_a_secret_is_masked(text: str) -> None:
    assert "hunter22" not in masked(text, [])


def test_text_is_cut() -> None:
    text = masked("x" * 10_000, [])
    assert text.startswith("x" * KEPT + "…")
    assert text.endswith("(10,000 characters)")
    assert masked('{"a": 1}', [""]) == '{"a": 1}'
