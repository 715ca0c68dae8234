"""Migrated databases are copied, never believed in for longer than they are right."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests import embedded, tables

pytestmark = pytest.mark.skipif(
    not embedded.has_own_postgres(), reason="somebody's own server keeps nothing of ours"
)
NAME = "weir_migrated_of_a_test"


def run(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def number() -> int:
    """Tell the database of today from one of the same name made later."""
    ((number,),) = run(f"SELECT oid FROM pg_database WHERE datname = '{NAME}'")
    return number


@pytest.fixture(autouse=True)
def _one_of_its_own(
    django_db_setup: None, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    monkeypatch.setattr(tables, "MIGRATED", NAME)
    with django_db_blocker.unblock():
        yield
        run(f"DROP DATABASE IF EXISTS {NAME}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the dump that another server left."""
    shutil.copy(embedded.OF_ALL / f"migrated-{tables.fingerprint()}.dump", tmp_path)
    return tmp_path


@pytest.fixture
def migrated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases that are migrated."""
    migrated: list[str] = []
    monkeypatch.setattr(tables, "_migrate", lambda: migrated.append(NAME))
    return migrated


def test_the_dump_of_another_server_is_read_once(folder: Path, migrated: list[str]) -> None:
    assert tables.template(folder) == NAME
    before = number()
    assert tables.template(folder) == NAME
    assert number() == before
    assert migrated == []


def test_what_somebody_left_half_made_is_made_anew(folder: Path, migrated: list[str]) -> None:
    run(f"CREATE DATABASE {NAME}")
    before = number()
    tables.template(folder)
    assert number() != before


def test_other_migrations_are_run_and_their_dump_replaces_the_old(
    folder: Path, migrated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.template(folder)
    before = number()
    monkeypatch.setattr(tables, "fingerprint", lambda: "edited")
    tables.template(folder)
    assert migrated == [NAME]
    assert number() != before
    assert [path.name for path in folder.glob("*.dump")] == ["migrated-edited.dump"]


def test_the_fingerprint_covers_migrations_and_what_they_import(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = tables._files()
    ours = {file for file in files if file.is_relative_to(embedded.ROOT)}
    names = {file.relative_to(embedded.ROOT).as_posix() for file in ours}
    assert "apps/plans/migrations/0001_initial.py" in names
    assert "weir/lifecycle/plans.py" in names
    copy = tmp_path / "copied.py"
    for file in (embedded.ROOT / "weir/lifecycle/plans.py", min(files)):
        copies = files - {file} | {copy}
        monkeypatch.setattr(tables, "_files", lambda copies=copies: copies)
        copy.write_bytes(file.read_bytes())
        before = tables.fingerprint()
        copy.write_bytes(file.read_bytes() + b"\n")
        assert tables.fingerprint() != before
