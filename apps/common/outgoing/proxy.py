"""Reach servers by a company's proxy: which of them go by it, and how it is asked to connect."""

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address

import httpcore

ANSWER_S = 20.0
"""How long a proxy may take to connect."""

LARGEST_ANSWER_BYTES = 16 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy that connects to servers by CONNECT, and the servers that are reached without it."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    except_names: tuple[str, ...] = ()
    """In small letters; `.example.org` stands for every name below example.org."""
    except_networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def __str__(self) -> str:
        return target_of(self.host, self.port)

    def spares_name(self, host: str) -> bool:
        """Return whether the settings name this host, or a domain above it, as an exception."""
        name = host.lower().rstrip(".")
        return any(
            name.endswith(one) if one.startswith(".") else name == one for one in self.except_names
        )

    def spared(self, addresses: Iterable[str]) -> list[str]:
        """Return those of the addresses that lie in a network of the exceptions."""
        parsed = [(one, ip_address(one.partition("%")[0])) for one in addresses]
        return [
            text
            for text, address in parsed
            if any(address in net for net in self.except_networks if net.version == address.version)
        ]


def target_of(host: str, port: int) -> str:
    """Return a server as CONNECT names it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def open_tunnel(stream: httpcore.NetworkStream, proxy: Proxy, target: str) -> None:
    """Have the proxy at the other end of a stream connect it to a server.

    Raises ConnectError: nothing has reached the server then. The message shows nothing of what the
    proxy says, for it may repeat its credential.
    """
    try:
        stream.write(_request(proxy, target), ANSWER_S)
        answer = _answer(stream)
    except httpcore.TimeoutException as error:
        raise httpcore.ConnectError(
            f"the proxy {proxy} does not connect to {target} in time"
        ) from error
    except (httpcore.ReadError, httpcore.WriteError) as error:
        raise httpcore.ConnectError(
            f"the proxy {proxy} breaks off, asked to connect to {target}"
        ) from error
    problem = _problem(answer, target)
    if problem:
        raise httpcore.ConnectError(f"the proxy {proxy} {problem}")


def _request(proxy: Proxy, target: str) -> bytes:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}", "User-Agent: Weir"]
    if proxy.user:
        credential = base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {credential}")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _answer(stream: httpcore.NetworkStream) -> bytes:
    """Return the answer as far as it comes. The server speaks only once it is spoken to."""
    answer = b""
    while b"\r\n\r\n" not in answer and len(answer) <= LARGEST_ANSWER_BYTES:
        piece = stream.read(4096, ANSWER_S)
        if not piece:
            break
        answer += piece
    return answer


def _problem(answer: bytes, target: str) -> str:
    """Return what is wrong with an answer and what to do; empty: it is connected."""
    status, (_, end, rest) = _STATUS.match(answer), answer.partition(b"\r\n\r\n")
    if status is None or not end:
        return "does not answer as a proxy does; look at WEIR_OUTGOING_PROXY"
    code = int(status[1])
    if code == 407:
        return "wants another user and password (407); correct WEIR_OUTGOING_PROXY"
    if 400 <= code < 500:
        return (
            f"refuses to connect to {target} ({code}). Have it allowed there, or name it in "
            "WEIR_OUTGOING_PROXY_EXCEPT"
        )
    if code >= 500:
        return f"cannot connect to {target} ({code})"
    if not 200 <= code < 300:
        return f"answers {code}, asked to connect to {target}"
    return f"says more than it was asked, connected to {target}" if rest else ""
