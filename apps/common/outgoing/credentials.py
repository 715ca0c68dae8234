"""Read credentials by reference: only a variable or a file that the installation allows, and only
for the servers that are named beside it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from apps.common.outgoing.addresses import server_of
from weir.errors import InvalidProblem

LARGEST_BYTES = 16 * 1024
FIELD = "credential"

HOSTS_VARIABLE, HOSTS_FILE = "_HOSTS", ".hosts"
"""What the names of variables and files end with that hold the servers of a credential."""


def check_reference(reference: str, *, prefix: str, folder: Path | None) -> None:
    """Raise InvalidProblem where this installation allows no such reference."""
    kind, colon, name = reference.partition(":")
    if not reference:
        return
    if not colon or kind not in ("env", "file"):
        example = f"env:{prefix}SERVICENOW"
        raise InvalidProblem(
            FIELD, f"Write {example} or file:/path. The credential itself is never stored."
        )
    if kind == "env":
        rest = name.removeprefix(prefix)
        if not name.startswith(prefix) or not rest.isascii() or not rest.isidentifier():
            raise InvalidProblem(FIELD, f"Only variables that begin with {prefix} are read.")
        if rest.endswith(HOSTS_VARIABLE):
            raise InvalidProblem(FIELD, f"{name} names the servers of a credential.")
    elif folder is None:
        raise InvalidProblem(
            FIELD, "This installation reads no files: set WEIR_CREDENTIALS_DIR to their folder."
        )
    elif not _below(name, folder):
        raise InvalidProblem(FIELD, f"Only files below {folder} are read.")
    elif name.endswith(HOSTS_FILE):
        raise InvalidProblem(FIELD, f"{name} names the servers of a credential.")


def credential(
    reference: str, address: str, *, prefix: str, folder: Path | None, environ: Mapping[str, str]
) -> str:
    """Return the credential for a server. Raises InvalidProblem, which never holds a value."""
    check_reference(reference, prefix=prefix, folder=folder)
    check_server(reference, address, environ=environ)
    return credential_value(reference, prefix=prefix, folder=folder, environ=environ)


def credential_value(
    reference: str, *, prefix: str, folder: Path | None, environ: Mapping[str, str]
) -> str:
    """Return a credential whose server is not known before it is read: it is an address itself,
    and goes nowhere before `check_server`. Raises InvalidProblem, which never holds a value."""
    check_reference(reference, prefix=prefix, folder=folder)
    kind, _, name = reference.partition(":")
    if kind == "env":
        value = environ.get(name, "").strip()
        if not value:
            raise InvalidProblem(FIELD, f"{name} is not set where this process runs.")
    elif kind == "file":
        value = _read(Path(name))
    else:
        return ""
    if not value.isprintable():
        raise InvalidProblem(FIELD, f"{reference} holds more than one line of text.")
    if not value.isascii() and ":" not in value:
        # A token goes into a header as it is; user and password are encoded.
        raise InvalidProblem(
            FIELD, f"{reference} is no token: it holds letters that no header can carry."
        )
    return value


def check_server(reference: str, address: str, *, environ: Mapping[str, str]) -> None:
    """Raise InvalidProblem where a credential may go to other servers only.

    Whoever may edit a connection could have a credential sent to a server of his own otherwise.
    """
    _, host, port = server_of(address)
    for source, text in _servers(reference, environ):
        servers = text.replace(",", " ").lower().split()
        if not {host, f"{host}:{port}"} & set(servers):
            allowed = ", ".join(servers) or "no server"
            raise InvalidProblem(
                FIELD, f"{reference} is for {allowed}, not for {host}:{port}, says {source}."
            )


def _servers(reference: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what names the servers of a credential, and their names; nothing: it may go to all."""
    kind, _, name = reference.partition(":")
    if kind == "env":
        source = f"{name}{HOSTS_VARIABLE}"
        if source in environ:
            yield source, environ[source]
    elif kind == "file":
        # A file may be known by several names.
        for path in dict.fromkeys((Path(name), Path(name).resolve())):
            source = f"{path}{HOSTS_FILE}"
            if os.path.lexists(source):
                yield source, _read(Path(source))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        value = text.decode("utf-8").strip()
    except OSError as error:
        raise InvalidProblem(FIELD, f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise InvalidProblem(FIELD, f"{path} holds no text in UTF-8.") from None
    if not value or len(text) > LARGEST_BYTES:
        raise InvalidProblem(FIELD, f"{path} is empty, or too large for a credential.")
    return value


def _below(name: str, folder: Path) -> bool:
    """Return whether the file lies below the folder, links resolved on both sides."""
    path = Path(name)
    if not path.is_absolute() or "\x00" in name:
        return False
    try:
        return path.resolve() != folder.resolve() and path.resolve().is_relative_to(
            folder.resolve()
        )
    except (OSError, RuntimeError):
        return False
