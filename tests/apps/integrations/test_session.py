"""Requests end on time whatever the server does, and say what is wrong without any secret."""

import ipaddress
import random
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.common.outgoing import dialling
from apps.common.outgoing.addresses import refusal_of
from apps.common.outgoing.credentials import credential
from apps.common.outgoing.masking import KEPT, masked
from apps.integrations.domain.contract import Failed, Refused, Sent, Unreachable
from apps.integrations.services import kept_requests
from apps.integrations.services.http_session import HttpSession
from tests.apps.integrations.faulty_server import Fault, FaultyServer, served
from tests.connect_proxy import proxying
from weir.errors import InvalidProblem

SECRET = "tok-123456789"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@dataclass(frozen=True, kw_only=True)
class Target:
    """Settings of a server that is asked with a token."""

    address: str
    authentication: str = "bearer"
    token_address: str = ""
    scope: str = ""
    client_in_body: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    shows_approval: bool = True
    shows_window: bool = True


class Listener(FaultyServer):
    """A server that takes whatever comes."""

    def answer(
        self, method: str, address: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any]:
        return 200, {"method": method, "auth": headers.get("Authorization")}


@pytest.fixture
def reachable(settings: Any) -> None:
    settings.WEIR_PLAIN_HTTP = True
    settings.WEIR_PRIVATE_NETWORKS = (ip_network("127.0.0.0/8"),)


def session(address: str, secret: str = SECRET, **values: Any) -> tuple[HttpSession, list[Sent]]:
    kept: list[Sent] = []
    target = Target(address=address, **values)
    return HttpSession(settings=target, credential=secret, keep=kept.append), kept


@contextmanager
def raw(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server that does with each connection what `serve` says, until the test is over."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopped, threads = threading.Event(), []

    def one(accepted: socket.socket) -> None:
        with accepted, suppress(OSError):
            serve(accepted, stopped)

    def accept() -> None:
        while True:
            try:
                accepted, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=one, args=[accepted]))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stopped.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in threads:
            thread.join()


def drip(sock: socket.socket, stopped: threading.Event, begin: bytes, piece: bytes) -> None:
    """Send the beginning, then a piece every few milliseconds, for ever."""
    sock.sendall(begin)
    while not stopped.wait(0.02):
        sock.sendall(piece)


DRIPS = {
    "headers": (b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n", b"a"),
    "answers_before": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "nothing": (b"", b""),
}


@pytest.mark.parametrize("kind", DRIPS)
def test_answer_that_drips_is_given_up(
    reachable: None, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """No pause is ever too long, and the answer never ends."""
    monkeypatch.setattr(kept_requests, "WHOLE_S", 0.5)
    with raw(lambda sock, stopped: drip(sock, stopped, *DRIPS[kind])) as address:
        asking, kept = session(address)
        with pytest.raises(Unreachable, match="does not answer in time"):
            asking.send("POST", "/a", {"b": 1})
    assert [sent.status for sent in kept] == [None]


@pytest.mark.parametrize(
    ("address", "not_sent"),
    [
        ("http://127.0.0.1:1", True),
        ("https://127.0.0.1:{port}", True),
        ("http://10.0.0.1", True),
        ("http://127.0.0.1:{port}", False),
        ("ftp://127.0.0.1:{port}", True),
    ],
)
def test_it_is_known_whether_a_request_can_have_arrived(
    reachable: None, address: str, not_sent: bool
) -> None:
    with raw(lambda sock, stopped: sock.close()) as at:
        port = at.rpartition(":")[2]
        with pytest.raises(Unreachable) as caught:
            session(address.format(port=port))[0].send("POST", "/", {})
    assert caught.value.not_sent is not_sent


def test_server_that_takes_a_request_in_drips_is_given_up(
    reachable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_requests, "WHOLE_S", 0.5)

    def serve(sock: socket.socket, stopped: threading.Event) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        while not stopped.wait(0.01):
            sock.recv(256)

    with raw(serve) as address:
        asking, _ = session(address)
        with pytest.raises(Unreachable, match="does not answer in time"):
            asking.send("POST", "/a", {"b": "x" * 20_000_000})


@pytest.mark.parametrize(("method", "given_up"), [("GET", True), ("POST", False), ("PUT", False)])
def test_what_writes_is_waited_for_longer_than_what_reads(
    reachable: None, monkeypatch: pytest.MonkeyPatch, method: str, given_up: bool
) -> None:
    monkeypatch.setattr(kept_requests, "READ_PAUSE_S", 0.1)

    def serve(sock: socket.socket, stopped: threading.Event) -> None:
        sock.recv(4096)
        stopped.wait(0.5)
        sock.sendall(OK)

    with raw(serve) as address:
        asking, _ = session(address)
        if given_up:
            with pytest.raises(Unreachable, match="does not answer in time"):
                asking.send(method, "/a")
        else:
            assert asking.send(method, "/a").json == {}
    assert kept_requests.READ_PAUSE_S < kept_requests.PAUSE_S < kept_requests.WHOLE_S


def test_names_that_are_looked_up_for_ever_hold_few_threads_and_no_request(
    reachable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, real = threading.Event(), socket.getaddrinfo

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host == "hangs.example.org":
            hangs.wait()
        return real("127.0.0.1", *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(dialling, "LOOKUP_S", 0.05)
    before = threading.active_count()
    messages = []
    try:
        for _ in range(dialling.LOOKUPS * 2):
            with pytest.raises(Unreachable) as caught:
                session("http://hangs.example.org:9")[0].send("GET", "/")
            messages.append(str(caught.value))
        assert threading.active_count() <= before + dialling.LOOKUPS
    finally:
        hangs.set()
    assert "is not looked up within 0.05 s" in messages[0]
    assert f"{dialling.LOOKUPS} names are being looked up" in messages[-1]
    monkeypatch.setattr(dialling, "LOOKUP_S", 10.0)
    with served(Listener()) as address:
        port = address.rpartition(":")[2]
        assert session(f"http://works.example.org:{port}")[0].send("GET", "/").status == 200


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault(status=500), Failed),
        (Fault(status=502, body="<html>"), Failed),
        (Fault(status=503), Failed),
        (Fault(status=504, headers={"Retry-After": "7"}), Failed),
        (Fault(status=503, headers={"Retry-After": "7"}), Unreachable),
        (Fault(status=429), Unreachable),
        (Fault(status=408), Unreachable),
        (Fault(status=425), Unreachable),
        (Fault(status=401), Unreachable),
        (Fault(status=301), Unreachable),
        (Fault(drop=True), Unreachable),
        (Fault(status=400), Refused),
        (Fault(status=403), Refused),
        (Fault(status=404), Refused),
    ],
)
def test_each_failure_says_whom_it_concerns(
    reachable: None, fault: Fault, kind: type[Exception]
) -> None:
    server = Listener()
    server.faults.append(fault)
    with served(server) as address, pytest.raises(kind) as caught:
        session(address)[0].send("GET", "/")
    assert type(caught.value) is kind
    if isinstance(caught.value, Failed | Refused):
        assert caught.value.status == fault.status
    if isinstance(caught.value, Unreachable) and "Retry-After" in fault.headers:
        assert caught.value.retry_after_s == 7.0


@pytest.mark.parametrize(
    "where",
    [
        f"https://login.example.org/{SECRET}?back=%2F",
        "https://login.example.org/a?access_token=hunter22#hunter22",
        "https://me:hunter22@login.example.org/",
        "https://login.example.org/" + "a" * 180 + SECRET,
        "http://[broken",
    ],
)
def test_place_of_a_redirection_shows_no_secret(reachable: None, where: str) -> None:
    server = Listener()
    server.faults.append(Fault(status=302, headers={"Location": where}))
    with served(server) as address, pytest.raises(Unreachable) as caught:
        session(address)[0].send("GET", "/")
    said = str(caught.value)
    assert "which is not followed" in said
    assert "hunter22" not in said
    assert SECRET[:6] not in said


@pytest.mark.parametrize("position", [0, 290, 296, 1000])
def test_what_a_server_says_shows_no_half_of_a_secret(reachable: None, position: int) -> None:
    server = Listener()
    body = '{"error": {"message": "' + "x" * position + SECRET + '"}}'
    server.faults.append(Fault(status=400, body=body))
    with served(server) as address, pytest.raises(Refused) as caught:
        session(address)[0].send("GET", "/")
    assert SECRET[:4] not in str(caught.value)


@pytest.mark.parametrize("secret", ["tök-1234", "токен", "秘密-1234"])
def test_token_that_no_header_carries_is_a_problem_that_does_not_show_it(
    reachable: None, secret: str
) -> None:
    server = Listener()
    with served(server) as address:
        asking, _ = session(address, secret)
        with pytest.raises(Unreachable, match="`credential`") as caught:
            asking.send("GET", "/")
        assert secret not in str(caught.value)
        # User and password are encoded: there it is none.
        asking, _ = session(address, f"me:{secret}", authentication="basic")
        assert asking.send("GET", "/").status == 200
    with pytest.raises(InvalidProblem, match="env:WEIR_CREDENTIAL_A is no token") as problem:
        credential(
            "env:WEIR_CREDENTIAL_A",
            "https://example.org",
            prefix="WEIR_CREDENTIAL_",
            folder=None,
            environ={"WEIR_CREDENTIAL_A": secret},
        )
    assert secret not in problem.value.message


@pytest.mark.parametrize("secret", ["two\nlines", "a\x00b", "a\x7fb", "a\ud800b"])
def test_credential_of_several_lines_is_a_problem_that_does_not_show_it(secret: str) -> None:
    with pytest.raises(InvalidProblem, match="WEIR_CREDENTIAL_A") as problem:
        credential(
            "env:WEIR_CREDENTIAL_A",
            "https://example.org",
            prefix="WEIR_CREDENTIAL_",
            folder=None,
            environ={"WEIR_CREDENTIAL_A": secret},
        )
    assert secret not in problem.value.message


@pytest.mark.parametrize("value", ["a\nb: c", "ä", "a\x00"])
def test_header_that_cannot_be_sent_is_a_problem(reachable: None, value: str) -> None:
    with served(Listener()) as address:
        asking, _ = session(address, headers={"X-Team": value})
        with pytest.raises(Unreachable, match="X-Team"):
            asking.send("GET", "/")
        with pytest.raises(Unreachable, match="Idempotency-Key"):
            session(address)[0].send("GET", "/", headers={"Idempotency-Key": value})


@pytest.mark.parametrize("path", ["/" + "a" * 70_000, "/a\x00b", "/a\nb"])
def test_path_that_is_none_is_a_problem(reachable: None, path: str) -> None:
    with served(Listener()) as address, pytest.raises(Unreachable, match="is no address"):
        session(address)[0].send("GET", path)


def test_answer_holds_nothing_that_cannot_be_stored(reachable: None) -> None:
    server = Listener()
    server.faults.append(Fault(body='{"a\\u0000": ["b\\ud800", {"c": "\\u0000ä"}], "n": 1}'))
    with served(server) as address:
        answer = session(address)[0].send("GET", "/")
    assert answer.json == {"a\ufffd": ["b?", {"c": "\ufffdä"}], "n": 1}


def test_requests_go_by_the_proxy_whose_refusal_arrived_nowhere(
    reachable: None, settings: Any
) -> None:
    with served(Listener()) as address, proxying() as proxy:
        settings.WEIR_OUTGOING_PROXY = proxy.settings()
        asking, kept = session(address)
        assert asking.send("POST", "/a", {}).status == 200
        proxy.answer = b"HTTP/1.1 407 weir:proxy:pass\r\n\r\n"
        with pytest.raises(Unreachable, match=r"the proxy 127.0.0.1:\d+ wants another") as caught:
            asking.send("POST", "/a", {})
    assert caught.value.not_sent
    assert proxy.requests == [address.removeprefix("http://")] * 2
    assert "pass" not in str(kept).replace("password", "")


# --- masking

ATTACKS = {
    "names": '"' + "token " * 170_000,
    "quoted names": '"token' * 170_000,
    "members without values": '"token" ' * 130_000,
    "spaces": '"token"' + " " * 1_000_000,
    "schemes": "Bearer " * 150_000,
    "spaces of a scheme": "Bearer" + " " * 1_000_000,
    "backslashes": '"token": "' + "\\" * 1_000_000,
}


@pytest.mark.parametrize("kind", ATTACKS)
@pytest.mark.parametrize("secret", ["", SECRET, "x" * 16_384])
def test_text_of_a_megabyte_is_masked_in_passing(kind: str, secret: str) -> None:
    """Time with the square of the length would be hours here."""
    text = masked(ATTACKS[kind], [secret])
    assert len(text) < KEPT + 100
    assert text.endswith(f"({len(ATTACKS[kind]):,} characters)")


@given(
    before=st.integers(0, 3 * KEPT),
    secret=st.text("abcdefghijklmnop:/+ä", min_size=8, max_size=300),
    after=st.integers(0, 3 * KEPT),
    copies=st.integers(1, 5),
)
def test_no_part_of_a_secret_is_left_where_a_text_is_cut(
    before: int, secret: str, after: int, copies: int
) -> None:
    text = masked("." * before + secret * copies + "." * after, [secret])
    assert secret[:8] not in text
    assert set(text) <= set(".*… (0123456789,characters)")


# --- addresses

V4: Any = vars(ipaddress)["_IPv4Constants"]
V6: Any = vars(ipaddress)["_IPv6Constants"]
SPECIAL: list[IPv4Network | IPv6Network] = [
    *(*V4._private_networks, V4._multicast_network, V4._public_network),
    *(*V6._private_networks, *V6._reserved_networks),
    *(V6._multicast_network, V6._sitelocal_network),
    *map(
        ip_network,
        [
            *("64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96", "2001::/32", "fec0::/10", "5f00::/16"),
            *("3fff::/20", "100:0:0:1::/64", "2001:20::/28", "192.88.99.0/24", "192.0.0.0/24"),
            "2002::/16",
        ],
    ),
]
# Within these are addresses that stand for public ones of IPv4.
SPECIAL = [one for one in SPECIAL if str(one) not in ("::/8", "::ffff:0:0/96")]


def embedded(inner: IPv4Address) -> list[IPv6Address]:
    """The address as every known translator and tunnel writes it."""
    low = int(inner)
    prefixes = ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::")
    mine = [IPv6Address(int(IPv6Address(prefix)) | low) for prefix in prefixes]
    teredo = (0x20010000 << 96) | (int(IPv4Address("65.54.227.120")) << 64) | (low ^ 0xFFFFFFFF)
    return [
        *mine,
        IPv6Address((0x2002 << 112) | (low << 80)),
        IPv6Address(teredo),
        IPv6Address(f"2606:4700::5efe:{low >> 16:x}:{low & 0xFFFF:x}"),
        IPv6Address(f"2606:4700::200:5efe:{low >> 16:x}:{low & 0xFFFF:x}"),
        # A local translator of /48 has the address around the eighth byte.
        IPv6Address(
            (0x0064FF9B0001 << 80)
            | ((low >> 16) << 64)
            | (((low >> 8) & 0xFF) << 48)
            | (low & 0xFF)
        ),
    ]


@pytest.mark.parametrize("network", SPECIAL, ids=str)
def test_address_of_a_special_network_is_refused_in_every_form(
    network: IPv4Network | IPv6Network,
) -> None:
    chance = random.Random(str(network))
    last = network.num_addresses - 1
    for place in (0, last, *(chance.randrange(last + 1) for _ in range(50))):
        address = network[place]
        assert refusal_of(str(address), ()), address
        if isinstance(address, IPv4Address):
            for form in embedded(address):
                assert refusal_of(str(form), ()), (address, form)


@pytest.mark.parametrize("inner", ["8.8.8.8", "1.1.1.1", "93.184.216.34"])
def test_public_address_is_dialled_as_a_translator_writes_it(inner: str) -> None:
    low = int(IPv4Address(inner))
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        assert refusal_of(str(IPv6Address(int(IPv6Address(prefix)) | low)), ()) == ""
    assert refusal_of(inner, ()) == ""


def test_network_of_a_local_translator_can_be_named() -> None:
    networks = (ip_network("64:ff9b:1::/48"),)
    assert refusal_of("64:ff9b:1::8.8.8.8", networks) == ""
    assert refusal_of("64:ff9b::10.0.0.1", networks)
