"""Keep where Weir is and the token that is sent there: from the environment, or as signed in."""

import getpass
import ipaddress
import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from weir_cli.ending import CommandError

NEXT = "Sign in with `weir login ADDRESS`, or set WEIR_URL and WEIR_TOKEN (or WEIR_TOKEN_FILE)."


@dataclass(frozen=True, slots=True)
class Login:
    """An address of Weir and the token of an account there."""

    url: str
    token: str


def kept_at(environment: Mapping[str, str]) -> Path:
    """Return the file that keeps a login."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "weir" / "login.json"


def current(environment: Mapping[str, str]) -> Login:
    """Return the login to use: the environment's, else the one that is kept.

    A token goes to no other address than the one it was given for: where only `WEIR_URL` is set, it
    has to be that of the login that is kept. Raises CommandError where there is none.
    """
    url = environment.get("WEIR_URL", "").rstrip("/")
    token = environment.get("WEIR_TOKEN", "")
    if file := environment.get("WEIR_TOKEN_FILE", ""):
        if token:
            raise CommandError("WEIR_TOKEN and WEIR_TOKEN_FILE are both set; unset one of them.")
        token = _token_of_file(Path(file))
    if token:
        if not url:
            raise CommandError("A token is set and no address; set WEIR_URL, too.")
        return Login(checked_address(url), checked_token(token))
    kept = _kept(kept_at(environment))
    if kept is None:
        raise CommandError(f"Not signed in. {NEXT}")
    if url and url != kept.url:
        raise CommandError(
            f"WEIR_URL is {url}, and the login that is kept is for {kept.url}. {NEXT}"
        )
    return kept


def _kept(path: Path) -> Login | None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    try:
        row = json.loads(text)
        return Login(checked_address(str(row["url"])), checked_token(str(row["token"])))
    except (ValueError, KeyError, TypeError, CommandError) as error:
        raise CommandError(f"{path} holds no login. {NEXT}") from error


def keep(login: Login, environment: Mapping[str, str]) -> Path:
    """Keep a login in a file that nobody else may read."""
    path = kept_at(environment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = path.with_suffix(".new")
        made.unlink(missing_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": login.url, "token": login.token}, file)
        made.replace(path)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    return path


def forget(environment: Mapping[str, str]) -> bool:
    """Delete the login that is kept; return whether there was one."""
    path = kept_at(environment)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}.") from error
    return True


def checked_address(url: str) -> str:
    """Return an address without its last slash. Raises CommandError for what is no address."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole, parts = False, urlsplit("")
    if (
        not whole
        or not url.isprintable()
        or parts.username
        or parts.password
        or parts.query
        or parts.fragment
    ):
        raise CommandError(
            f'"{url}" is no address of Weir; give one such as https://weir.example.org.'
        )
    if parts.path.strip("/"):
        raise CommandError(f'Give the address without a path: "{parts.scheme}://{parts.netloc}".')
    return url.rstrip("/")


def checked_token(token: str) -> str:
    """Return a token without the space around it. Raises CommandError for what is no token."""
    token = token.strip()
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise CommandError("This is no token: make one in Weir under Settings, API tokens.")
    return token


def is_readable_on_the_way(url: str) -> bool:
    """Return whether others may read a token that is sent to this address."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True


def read_token(file: str | None) -> str:
    """Return the token of a file, or of standard input; people are asked for it, unseen."""
    if file is not None:
        return checked_token(_token_of_file(Path(file)))
    if sys.stdin.isatty():
        return checked_token(getpass.getpass("Token (Settings, API tokens): "))
    return checked_token(sys.stdin.readline())


def _token_of_file(path: Path) -> str:
    try:
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH) and path.is_file():
            print(f"weir: others may read {path}; `chmod 600` it.", file=sys.stderr)
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise CommandError(f"{path}: {reason}.") from error
