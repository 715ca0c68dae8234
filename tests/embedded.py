"""The servers of the test suite: real Postgres and Valkey for the session, Spark on first use.

Loaded as a pytest plugin before Django's settings are read (`-p tests.embedded` in pyproject.toml).
`WEIR_TEST_SERVERS=off` leaves them out, for tests of the kernel alone.

With pytest-xdist (`-n 2 --dist loadfile`) each worker has servers, ports and a data directory of
its own in `var/test/<worker>`: news in Valkey reaches every listener of a server, whatever
database it chose, so sharing one would let tests hear each other.
"""

import os
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from config.offline import ADDRESSES
from config.stack import Stack

_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
ROOT = Path(__file__).resolve().parents[1]
OF_ALL = ROOT / "var" / "test"
STATE_DIR = OF_ALL / _worker
_wanted = os.environ.get("WEIR_TEST_SERVERS", "on") != "off"

# The Java of tests lives for minutes: compiling its code with more care than this takes longer than
# the code then runs. Half of the processor's time that Spark takes is saved.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# As we found it: once our servers' addresses stand in it, the stack would take them for the user's.
# The process that starts the workers reaches no server: what it leaves them of its own settings are
# addresses at which nothing listens.
_given = {name: value for name, value in os.environ.items() if ADDRESSES.get(name) != value}
_started: list[Stack] = []


def _stack(state_dir: Path, *parts: str) -> Stack:
    return Stack(state_dir=state_dir, parts=parts, given=_given)


def _start(*parts: str) -> None:
    stack = _stack(STATE_DIR, *parts)
    _started[:] = [stack]  # the same servers, with those that were added later
    stack.up()
    os.environ.update(stack.environment())


def has_own_postgres() -> bool:
    """Return whether the tests' Postgres is one that they started."""
    return bool(_started) and "DATABASE_URL" not in _given


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Before pytest-django reads the settings; a process that only hands out tests needs none."""
    hands_out = not _worker and getattr(parser.parse_known_args(args), "numprocesses", None)
    if _wanted and not hands_out:
        _start("postgres", "valkey")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
    return (yield)


class _ByServers(LoadScopeScheduling):
    """What one worker of pytest-xdist does: whole files, because the tests of a file may share
    servers of their own, and all files with tests on Spark, because it alone starts Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)


# A long file that begins last keeps the other workers waiting. Those that follow begin in the order
# of how many tests they have.
LONGEST = (
    "spark",
    "tests/stack/test_stack_up_and_down.py",
    "tests/apps/accounts/test_every_role.py",
    "tests/agent/test_control_plane_lost.py",
    "tests/agent/test_nats_rates.py",
    "tests/docs/test_recipes.py",
    "tests/stack/test_stack_kills.py",
    "tests/agent/test_broker_restored.py",
    "tests/apps/plans/test_walk.py",
    "tests/apps/common/test_schema.py",
    "tests/agent/test_cluster.py",
    "tests/apps/allocations/test_planning_steps.py",
    "tests/apps/runs/test_lost_messages.py",
    "tests/agent/test_outcomes.py",
    "tests/apps/runs/test_processes.py",
    "tests/agent/test_runtime.py",
)


def _scope(nodeid: str) -> str:
    file, _, _ = nodeid.partition("::")
    return "spark" if _asks_for_spark(ROOT / file) else file


@cache
def _asks_for_spark(file: Path) -> bool:
    return "spark_server" in file.read_text(encoding="utf-8")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """None: pytest-xdist takes its own."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # the order of the workers' collections stands
    return _ByServers(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort what workers collect: the longest files first."""
    if _worker and _wanted:
        sizes = Counter(_scope(item.nodeid) for item in items)
        places = {scope: place for place, scope in enumerate(LONGEST)}

        def rank(item: pytest.Item) -> tuple[int, int, str]:
            scope = _scope(item.nodeid)
            return places.get(scope, len(LONGEST)), -sizes[scope], scope

        items.sort(key=rank)


@pytest.fixture(scope="session")
def spark_server() -> Iterator[str]:
    """The address of a running Spark Connect server."""
    _start("postgres", "valkey", "spark")
    from django.conf import settings

    settings.WEIR_SPARK_REMOTE = os.environ["WEIR_SPARK_REMOTE"]
    yield settings.WEIR_SPARK_REMOTE
    from spark_tasks import session

    session.close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Not later than this: a worker that has said that it is finished may be killed."""
    if _worker:
        _end()


def pytest_unconfigure() -> None:
    """For a session that did not begin, and for workers that were killed."""
    _end()


def _end() -> None:
    """Leave nothing running, unless somebody wants the next run to start faster."""
    if not _wanted or os.environ.get("WEIR_TEST_SERVERS_KEEP"):
        return
    of_workers = [] if _worker else [_stack(folder) for folder in STATE_DIR.glob("gw*")]
    for stack in (*_started, *of_workers):
        stack.down()
    _started.clear()
