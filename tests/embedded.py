"""The servers of the test suite: real Postgres and Valkey for the session, Spark on first use.

Loaded as a pytest plugin before Django's settings are read (`-p tests.embedded` in pyproject.toml).
`WEIR_TEST_SERVERS=off` leaves them out, for tests of the kernel alone.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import Stack

STATE_DIR = Path(__file__).resolve().parents[1] / "var" / "test"
_wanted = os.environ.get("WEIR_TEST_SERVERS", "on") != "off"
# A worker of pytest-xdist inherits the environment of the process that started the servers.
_inherited = "PYTEST_XDIST_WORKER" in os.environ


# As we found it: once our servers' addresses stand in it, the stack would take them for the user's.
_given = dict(os.environ)


def _stack(*parts: str) -> Stack:
    return Stack(state_dir=STATE_DIR, parts=parts, given=_given)


if _wanted and not _inherited:
    _servers = _stack("postgres", "valkey")
    _servers.up()
    os.environ.update(_servers.environment())
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"


@pytest.fixture(scope="session")
def spark_server() -> Iterator[str]:
    """The address of a running Spark Connect server."""
    stack = _stack("postgres", "valkey", "spark")
    stack.up()
    os.environ.update(stack.environment())
    from django.conf import settings

    settings.WEIR_SPARK_REMOTE = os.environ["WEIR_SPARK_REMOTE"]
    yield settings.WEIR_SPARK_REMOTE
    from spark_tasks import session

    session.close()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing running, unless somebody wants the next run to start faster."""
    if _wanted and not _inherited and not os.environ.get("WEIR_TEST_SERVERS_KEEP"):
        _stack("postgres", "valkey", "spark").down()
