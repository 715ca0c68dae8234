"""Check the addresses at which neighbours' agents reach a broker: set by a person, never by an
agent."""

from urllib.parse import quote, urlsplit

from apps.common.errors import ApplicationError

SCHEMES = ("nats", "tls", "sim")
LONGEST = 300
EXAMPLE = "nats://10.1.2.3:4222 or tls://broker-1.example.org:4222"


def simulated_address(broker: str) -> str:
    """Return where a simulated fleet has this broker."""
    return f"sim://{quote(broker, safe='')}"


def address_fault(text: str) -> str:
    """Return what is wrong with an address, as a sentence; empty when nothing is."""
    if not text:
        return f"An address is needed, such as {EXAMPLE}."
    if len(text) > LONGEST:
        return f"An address has at most {LONGEST} characters."
    if not text.isprintable() or any(c.isspace() for c in text) or not text.isascii():
        return "An address holds no blanks and no special characters."
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return f"This is no address; it looks like {EXAMPLE}."
    if parts.scheme not in SCHEMES:
        return f"An address begins with {', '.join(f'{s}://' for s in SCHEMES[:-1])} or sim://."
    if "@" in parts.netloc:
        return "An address holds no user and no password: agents prove who they are by a key."
    if not parts.hostname:
        return f"The host is missing; an address looks like {EXAMPLE}."
    if parts.path or parts.query or parts.fragment or text.endswith(("/", "?", "#")):
        return "An address ends with host and port; leave out what follows."
    if parts.scheme == "sim":
        return ""
    if not port:
        return f"The port is missing; an address looks like {EXAMPLE}."
    return ""


def address_checked(text: str) -> str:
    """Return the address, if it is valid. Raises ApplicationError naming the field."""
    fault = address_fault(text)
    if fault:
        raise ApplicationError.of_field("address", fault)
    return text
