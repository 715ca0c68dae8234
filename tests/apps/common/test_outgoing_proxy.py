"""Requests by a proxy: what it is asked to connect to, what goes past it, and what it answers."""

import base64
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.common.outgoing import dialling, proxy
from apps.common.outgoing.dialling import CheckedTransport, Deadline, ForbiddenAddress
from apps.common.outgoing.proxy import Proxy
from tests.connect_proxy import CREDENTIAL, ConnectProxy, proxying

NAME = "tickets.example.org"
LOCAL = (ip_network("127.0.0.0/8"),)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@pytest.fixture
def by() -> Iterator[ConnectProxy]:
    with proxying() as by:
        yield by


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Addresses that this machine knows names by; it knows no other name."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host in known:
            return [row for one in known[host] for row in real(one, port, *args, **kwargs)]
        with suppress(socket.gaierror):
            return real(host, port, *args, **{**kwargs, "flags": socket.AI_NUMERICHOST})
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


@contextmanager
def answering(context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers each request; yields its port and what came."""
    listener = socket.create_server(("127.0.0.1", 0))
    received: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            with accepted, suppress(OSError):
                accepted.settimeout(5)
                stream = accepted
                if context is not None:
                    stream = context.wrap_socket(accepted, server_side=True)
                received.append(stream.recv(4096))
                stream.sendall(OK)
                stream.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], received
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def get(address: str, settings: Proxy | None, *allowed: Any) -> httpx.Response:
    transport = CheckedTransport(allowed or LOCAL, Deadline(10.0), settings)
    with httpx.Client(transport=transport, trust_env=False) as client:
        return client.get(address)


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """A server's certificate for the name, of an authority that SSL_CERT_FILE adds."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"),
            *("ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", "server.key"),
            *("-out", "server.pem", "-subj", f"/CN={NAME}"),
            *("-addext", f"subjectAltName=DNS:{NAME}"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    dialling._tls.cache_clear()
    yield context
    dialling._tls.cache_clear()


def test_proxy_looks_up_a_name_that_this_machine_does_not_know(
    by: ConnectProxy, looked_up: dict[str, list[str]], certified: ssl.SSLContext
) -> None:
    with answering(certified) as (port, received):
        by.names[f"{NAME}:{port}"] = ("127.0.0.1", port)
        assert get(f"https://{NAME}:{port}/a", by.settings(), ip_network("10.0.0.0/8")).json() == {}
    assert by.requests == [f"{NAME}:{port}"]
    user, password = CREDENTIAL
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    assert f"\r\nProxy-Authorization: Basic {encoded}\r\n" in by.heads[0]
    (request,) = received
    assert f"Host: {NAME}:{port}".encode() in request
    assert b"Proxy-Authorization" not in request


def test_server_that_the_proxy_leads_to_has_to_prove_its_name(
    by: ConnectProxy, looked_up: dict[str, list[str]], certified: ssl.SSLContext
) -> None:
    """Whoever controls the look-up of another name leads nobody to a server inside."""
    with answering(certified) as (port, received):
        by.names[f"evil.example.org:{port}"] = ("127.0.0.1", port)
        with pytest.raises(httpx.ConnectError, match="certificate"):
            get(f"https://evil.example.org:{port}/", by.settings())
    assert received == []


def test_without_tls_the_proxy_is_asked_for_the_address_that_was_checked(
    by: ConnectProxy, looked_up: dict[str, list[str]]
) -> None:
    looked_up[NAME] = ["127.0.0.1"]
    with answering() as (port, received):
        assert get(f"http://{NAME}:{port}/a", by.settings()).json() == {}
        assert by.requests == [f"127.0.0.1:{port}"]
        assert f"Host: {NAME}:{port}".encode() in received[0]
        with pytest.raises(ForbiddenAddress, match="no address that Weir could check"):
            get(f"http://unknown.example.org:{port}/", by.settings())
    assert len(by.requests) == 1


@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.0.0.1", None),
        ("10.0.0.1", None),
        ("169.254.169.254", None),
        ("[::1]", None),
        ("[::ffff:10.0.0.1]", None),
        ("2130706433", None),
        ("0x7f000001", None),
        ("127.1", None),
        ("127.0.0.1.", None),
        ("0x7f.0.0.0x1g", None),
        ("inside.example.org", ["10.0.0.1"]),
        ("inside.example.org", ["93.184.216.34", "10.0.0.1"]),
        ("inside.example.org", ["2606:4700::1111", "fd00::1"]),
    ],
)
def test_private_address_is_not_asked_of_the_proxy(
    by: ConnectProxy,
    looked_up: dict[str, list[str]],
    scheme: str,
    host: str,
    addresses: list[str] | None,
) -> None:
    if addresses is not None:
        looked_up[host] = addresses
    with pytest.raises((ForbiddenAddress, httpx.InvalidURL)):
        get(f"{scheme}://{host}/", by.settings(), ip_network("192.168.0.0/16"))
    assert by.requests == []


@pytest.mark.parametrize(
    ("exceptions", "is_direct"),
    [
        ({"except_names": (NAME,)}, True),
        ({"except_names": (".example.org",)}, True),
        ({"except_names": (".org", "other.net")}, True),
        ({"except_networks": (ip_network("127.0.0.0/30"),)}, True),
        ({"except_names": ("example.org", ".tickets.example.org", "ickets.example.org")}, False),
        ({"except_networks": (ip_network("10.0.0.0/8"), ip_network("::1/128"))}, False),
        ({}, False),
    ],
)
def test_exceptions_are_reached_without_the_proxy(
    by: ConnectProxy,
    looked_up: dict[str, list[str]],
    exceptions: dict[str, Any],
    is_direct: bool,
) -> None:
    looked_up[NAME] = ["127.0.0.1"]
    with answering() as (port, received):
        assert get(f"http://Tickets.Example.org:{port}/", by.settings(**exceptions)).json() == {}
        assert len(received) == 1
    assert bool(by.requests) is not is_direct


@pytest.mark.parametrize(
    "exceptions", [{"except_names": (NAME,)}, {"except_networks": (ip_network("10.0.0.0/8"),)}]
)
def test_exception_may_be_private_only_where_its_network_is_named(
    by: ConnectProxy, looked_up: dict[str, list[str]], exceptions: dict[str, Any]
) -> None:
    looked_up[NAME] = ["10.0.0.1"]
    with pytest.raises(ForbiddenAddress, match=r"10\.0\.0\.1 is no public address"):
        get(f"https://{NAME}/", by.settings(**exceptions))
    assert by.requests == []


def replying(answer: bytes) -> Callable[[ConnectProxy], None]:
    return lambda by: setattr(by, "answer", answer)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (
            replying(b"HTTP/1.1 407 weir:proxy:pass\r\nContent-Length: 0\r\n\r\n"),
            "wants another user and password (407); correct WEIR_OUTGOING_PROXY",
        ),
        (
            replying(b"HTTP/1.0 403 Forbidden\r\n\r\n<html>proxy:pass</html>"),
            f"refuses to connect to {NAME}:443 (403). Have it allowed there, or name it in "
            "WEIR_OUTGOING_PROXY_EXCEPT",
        ),
        (replying(b"HTTP/1.1 503 \r\n\r\n"), f"cannot connect to {NAME}:443 (503)"),
        (replying(b"HTTP/1.1 302 Found\r\n\r\n"), "answers 302"),
        (replying(b"HTTP/1.1 200 OK\r\n\r\nmore"), "says more than it was asked"),
        (replying(b"HTTP/1.1 200 OK\r\n"), "does not answer as a proxy does"),
        (replying(b"SSH-2.0-OpenSSH_9.6\r\n"), "does not answer as a proxy does"),
        (
            replying(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 10_000),
            "does not answer as a proxy does",
        ),
        (lambda by: setattr(by, "silent", True), "does not connect to tickets.example.org:443"),
    ],
)
def test_proxy_that_does_not_connect_says_what_to_do_and_shows_no_credential(
    by: ConnectProxy,
    looked_up: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[ConnectProxy], None],
    words: str,
) -> None:
    monkeypatch.setattr(proxy, "ANSWER_S", 0.3)
    monkeypatch.setattr(dialling, "ANSWER_S", 0.3)
    prepare(by)
    # It is certain that nothing has reached the server.
    with pytest.raises(httpx.ConnectError) as caught:
        get(f"https://{NAME}/", by.settings())
    assert f"the proxy 127.0.0.1:{by.port} {words}" in str(caught.value)
    assert "pass" not in str(caught.value).replace("password", "")
    assert "proxy:pass" not in repr(by.settings())


def test_proxy_that_is_away_is_named(looked_up: dict[str, list[str]]) -> None:
    for host in ("127.0.0.1", "proxy.example.org"):
        with pytest.raises(httpx.ConnectError, match=f"the proxy {host}:1 takes no connection"):
            get(f"https://{NAME}/", Proxy(host=host, port=1))


def test_name_that_is_looked_up_for_ever_here_is_left_to_the_proxy(
    by: ConnectProxy, certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, real = threading.Event(), socket.getaddrinfo

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host == NAME:
            hangs.wait()
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(dialling, "KNOWN_LOOKUP_S", 0.05)
    try:
        with answering(certified) as (port, _):
            by.names[f"{NAME}:{port}"] = ("127.0.0.1", port)
            assert get(f"https://{NAME}:{port}/", by.settings()).json() == {}
    finally:
        hangs.set()
