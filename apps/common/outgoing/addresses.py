"""Decide which servers requests may reach."""

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import urlsplit

import httpx

from weir.errors import InvalidProblem

Network = IPv4Network | IPv6Network

# A translator turns these into the IPv4 address in their last bytes.
_TRANSLATED = ip_network("64:ff9b::/96")

# All IPv6 addresses of servers are of this network. Outside of it are site-local addresses, those
# of local translators (64:ff9b:1::/48, ::ffff:0:0:0/96, ::a.b.c.d), and what nobody has.
_SERVERS = ip_network("2000::/3")

# Python's lists lack these, or did in some versions: 6to4, which no network translates any more
# (RFC 7526), and its relays, tunnels of Teredo, hashes of keys, networks of documents, and the
# server inside of each machine of a cloud (Azure).
_NOT_SERVERS = tuple(
    ip_network(text)
    for text in (
        *("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),
        *("2001::/23", "2002::/16", "3fff::/20", "2001:db8::/32"),
    )
)

# A tunnel (ISATAP) reads the last four bytes of an address with this before them as IPv4.
_TUNNELLED = (0x00005EFE, 0x02005EFE)


_PORTS = {"https": 443, "http": 80}


def server_of(address: str) -> tuple[str, str, int | None]:
    """Return the server of an address that was checked: scheme, host and port."""
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)


def check_address(
    address: str, *, plain_http: bool, field: str = "address", may_query: bool = False
) -> None:
    """Raise InvalidProblem unless this is the address of a server that requests may go to."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise InvalidProblem(field, f"Is no address: {error}.") from error
    if not address.isascii() or not address.isprintable() or " " in address:
        raise InvalidProblem(field, "Write it in ASCII, without spaces.")
    if "\\" in address:
        raise InvalidProblem(field, "Write / instead of \\.")
    try:
        # What dials it has to understand it: it refuses names that no international one gives.
        httpx.URL(address).host  # noqa: B018
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidProblem(field, f"Is no address: {error}.") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise InvalidProblem(field, "Begin with https:// and the name of the server.")
    if parts.scheme == "http" and not plain_http:
        raise InvalidProblem(field, "Only https:// is allowed; WEIR_PLAIN_HTTP=1 allows http://.")
    if "@" in parts.netloc:
        raise InvalidProblem(field, "Leave name and password out; give a credential instead.")
    if "#" in address:
        raise InvalidProblem(field, "Leave out # and what follows it.")
    if "?" in address and not may_query:
        raise InvalidProblem(field, "Leave out what follows the path.")
    if port == 0:
        raise InvalidProblem(field, "Port 0 reaches nobody.")


def refusal_of(text: str, allowed: Sequence[Network]) -> str:
    """Return why an IP address may not be dialled; empty if it may.

    Public addresses may, and private ones in a network that the installation names.
    """
    given = ip_address(text.partition("%")[0])
    address = _meant(given)
    if any(address in network for network in allowed if network.version == address.version):
        return ""
    if _is_public(address):
        return ""
    return (
        f"{address} is no public address. An administrator of the installation can allow its "
        "network in WEIR_PRIVATE_NETWORKS."
    )


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast:
        return False
    if any(address in one for one in _NOT_SERVERS if one.version == address.version):
        return False
    if isinstance(address, IPv4Address):
        return True
    if (int(address) >> 32) & 0xFFFFFFFF in _TUNNELLED:
        return _is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _SERVERS


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address
