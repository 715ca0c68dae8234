"""Read the environment once, typed; a missing or malformed variable stops the start."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import unquote, urlsplit

from apps.common.outgoing.proxy import Proxy

_ADDRESS = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+"
_SENDER = re.compile(rf"{_ADDRESS}|[A-Za-z0-9 ]+ <{_ADDRESS}>")
_HOST = re.compile(r"\.?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


class ConfigurationError(Exception):
    """Signal a missing or malformed environment variable; the message names it and the
    correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Hold where e-mail is handed over, and in whose name."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    starttls: bool
    tls: bool
    sender: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Hold what the control plane needs to know about its machine."""

    database_url: str
    broker_url: str
    spark_remote: str
    secret_key: str
    data_dir: Path
    recordings_dir: Path
    web_url: str
    public_url: str
    allowed_hosts: tuple[str, ...]
    secure_cookies: bool
    run_silence_s: float
    prepare_timeout_s: float
    trusted_proxies: int
    api_requests_per_minute: int
    credentials_dir: Path | None
    private_networks: tuple[IPv4Network | IPv6Network, ...]
    plain_http: bool
    outgoing_proxy: Proxy | None
    mail: MailServer | None


def _need(source: Mapping[str, str], name: str, scheme: tuple[str, ...] = ()) -> str:
    value = _secret(source, name)
    if not value:
        raise ConfigurationError(
            f"{name} is not set. `make up` sets it for the embedded servers; "
            "`python -m config.stack env` prints it for a running system; .env.example explains it."
        )
    if scheme and urlsplit(value).scheme not in scheme:
        raise ConfigurationError(f"{name} must start with {' or '.join(s + '://' for s in scheme)}")
    return value


def _secret(source: Mapping[str, str], name: str) -> str:
    """Return the variable, or the content of the file that NAME_FILE names (container secrets)."""
    path = source.get(f"{name}_FILE", "")
    if not path:
        return source.get(name, "").strip()
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"{name}_FILE={path} cannot be read: {error.strerror}") from error


def _flag(source: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = source.get(name, "").strip().lower()
    if value in ("", "0", "false", "no", "1", "true", "yes"):
        return default if value == "" else value in ("1", "true", "yes")
    raise ConfigurationError(f"{name}={value!r}: write 1 or 0")


def _seconds(source: Mapping[str, str], name: str, *, default: float) -> float:
    value = source.get(name, "").strip()
    try:
        seconds = float(value) if value else default
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 86_400:
        raise ConfigurationError(f"{name}={value!r}: write seconds between 1 and 86400")
    return seconds


def _whole(source: Mapping[str, str], name: str, *, most: int, default: int = 0) -> int:
    value = source.get(name, "").strip() or str(default)
    if not (value.isascii() and value.isdigit() and int(value) <= most):
        raise ConfigurationError(f"{name}={value!r}: write a whole number from 0 to {most}")
    return int(value)


def _networks(source: Mapping[str, str], name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    texts = [text.strip() for text in source.get(name, "").split(",") if text.strip()]
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise ConfigurationError(f"{name}: {error}; write 10.1.0.0/16,10.2.0.7/32") from error


def _folder(source: Mapping[str, str], name: str) -> Path | None:
    text = source.get(name, "").strip()
    if text and not Path(text).is_absolute():
        raise ConfigurationError(f"{name}={text!r}: write an absolute path")
    return Path(text) if text else None


def _mail(source: Mapping[str, str]) -> MailServer | None:
    """Read `smtp://` (STARTTLS, unless `?starttls=no`) or `smtps://`, with user and password where
    the server wants them."""
    name, example = "WEIR_SMTP_URL", "smtp://user:password@mail.example.org:587"
    url, sender = _secret(source, name), source.get("WEIR_MAIL_FROM", "").strip()
    if not url:
        return None
    wrong = (
        f"{name} must be like {example}, or smtps:// for TLS at once; "
        "write / # ? and @ of a password as %2F %23 %3F and %40"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # What is wrong may be a part of the password.
        raise ConfigurationError(wrong) from None
    tls = parts.scheme == "smtps"
    is_server = parts.scheme in ("smtp", "smtps") and parts.path in ("", "/") and not parts.fragment
    if not is_server or not parts.hostname:
        raise ConfigurationError(wrong)
    if bool(parts.username) is not bool(parts.password):
        raise ConfigurationError(f"{name} names a user and a password, or neither")
    if parts.query not in ("", "starttls=no") or (tls and parts.query):
        raise ConfigurationError(f"{name}: the only option is ?starttls=no, of smtp://")
    if not _SENDER.fullmatch(sender):
        raise ConfigurationError(
            f"WEIR_MAIL_FROM={sender!r}: write the address that e-mail comes from, such as "
            "weir@example.org or Weir <weir@example.org>"
        )
    return MailServer(
        host=parts.hostname,
        port=port or (465 if tls else 587),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=not tls and not parts.query,
        tls=tls,
        sender=sender,
    )


def _proxy(source: Mapping[str, str]) -> Proxy | None:
    """Read `http://`, with user and password where the proxy wants them, and its exceptions."""
    name, example = "WEIR_OUTGOING_PROXY", "http://user:password@proxy.example.org:3128"
    names, networks = _proxy_exceptions(source)
    url = _secret(source, name)
    if not url:
        return None
    wrong = f"{name} must be like {example}; write / # ? and @ of a password as %2F %23 %3F and %40"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        # What is wrong may be a part of the password.
        raise ConfigurationError(wrong) from None
    if parts.scheme == "https":
        raise ConfigurationError(
            f"{name}: write http://. A proxy is spoken to without TLS; what goes through it has "
            "TLS of its own."
        )
    is_server = parts.scheme == "http" and parts.path in ("", "/")
    if not is_server or parts.query or parts.fragment or not parts.hostname or not port:
        raise ConfigurationError(wrong)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) is not bool(password) or ":" in user:
        raise ConfigurationError(f"{name} names a user without : and a password, or neither")
    return Proxy(
        host=parts.hostname,
        port=port,
        user=user,
        password=password,
        except_names=names,
        except_networks=networks,
    )


def _proxy_exceptions(
    source: Mapping[str, str],
) -> tuple[tuple[str, ...], tuple[IPv4Network | IPv6Network, ...]]:
    """Read the hosts, domains and networks that are reached without the proxy."""
    name = "WEIR_OUTGOING_PROXY_EXCEPT"
    names: list[str] = []
    networks: list[IPv4Network | IPv6Network] = []
    for text in source.get(name, "").lower().replace(",", " ").split():
        try:
            networks.append(ip_network(text))
        except ValueError:
            if not _HOST.fullmatch(text) or not re.search("[a-z]", text):
                raise ConfigurationError(
                    f"{name}: {text!r} is no host (tickets.example.org), domain (.example.org) or "
                    "network (10.1.0.0/16)"
                ) from None
            names.append(text)
    return tuple(names), tuple(networks)


def _web_address(source: Mapping[str, str], name: str) -> str:
    return _need(source, name, ("http", "https")).rstrip("/")


def read_environment(source: Mapping[str, str] | None = None) -> Environment:
    """Read and check all variables. Raises ConfigurationError naming the first wrong one."""
    env = os.environ if source is None else source
    data_dir = _need(env, "WEIR_DATA_DIR")
    web_url = _web_address(env, "WEIR_WEB_URL")
    has_public = env.get("WEIR_PUBLIC_URL") or env.get("WEIR_PUBLIC_URL_FILE")
    return Environment(
        database_url=_need(env, "DATABASE_URL", ("postgres", "postgresql")),
        broker_url=_need(env, "WEIR_BROKER_URL", ("redis", "rediss", "unix")),
        spark_remote=_need(env, "WEIR_SPARK_REMOTE", ("sc",)),
        secret_key=_need(env, "WEIR_SECRET_KEY"),
        data_dir=Path(data_dir),
        recordings_dir=Path(
            env.get("WEIR_RECORDINGS_DIR", "").strip() or Path(data_dir, "recordings")
        ),
        web_url=web_url,
        public_url=_web_address(env, "WEIR_PUBLIC_URL") if has_public else web_url,
        allowed_hosts=tuple(
            h for h in env.get("WEIR_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",") if h
        ),
        secure_cookies=_flag(env, "WEIR_SECURE_COOKIES", default=False),
        run_silence_s=_seconds(env, "WEIR_RUN_SILENCE_S", default=20.0),
        prepare_timeout_s=_seconds(env, "WEIR_PREPARE_TIMEOUT_S", default=2.5),
        trusted_proxies=_whole(env, "WEIR_TRUSTED_PROXIES", most=10),
        api_requests_per_minute=_whole(
            env, "WEIR_API_REQUESTS_PER_MINUTE", most=600_000, default=1200
        ),
        credentials_dir=_folder(env, "WEIR_CREDENTIALS_DIR"),
        private_networks=_networks(env, "WEIR_PRIVATE_NETWORKS"),
        plain_http=_flag(env, "WEIR_PLAIN_HTTP", default=False),
        outgoing_proxy=_proxy(env),
        mail=_mail(env),
    )


def database_settings(url: str) -> dict[str, object]:
    """Return Django's DATABASES entry for a postgres:// address."""
    parts = urlsplit(url)
    try:
        port = str(parts.port or "")
    except ValueError as error:
        raise ConfigurationError(f"DATABASE_URL: {error}; write host:5432") from error
    if not parts.path.strip("/"):
        raise ConfigurationError("DATABASE_URL names no database: postgres://user:password@host/db")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.strip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": port,
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": 5},
    }
