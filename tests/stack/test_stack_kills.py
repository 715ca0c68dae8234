"""Whatever is killed, the system comes back by itself or goes away whole."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg2
import pytest

from config.stack import Stack, StackError, proc
from config.stack.site import TAG_PART, TAG_STACK
from tests.freezing import freeze
from tests.stack.support import MakeStack, eventually, living, plain_environment

pytestmark = pytest.mark.stack

WITH_AND_WITHOUT_TOKEN = """
import os
from pyspark.sql import SparkSession

address = os.environ["WEIR_SPARK_REMOTE"]
session = SparkSession.builder.remote(address).create()
print(session.range(3).count())
session.stop()
del os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"]
try:
    SparkSession.builder.remote(address).create().range(3).count()
except Exception as error:
    print("refused" if "UNAUTHENTICATED" in str(error) else error, flush=True)
os._exit(0)  # a client whose session was refused hangs in its own clean-up
"""


@pytest.mark.parametrize("part", ["postgres", "valkey"])
def test_killed_server_comes_back(servers: Stack, part: str) -> None:
    killed = servers.kill(part)
    assert eventually(lambda: servers.pid(part) not in (None, killed))
    servers.wait_ready(part, 15.0)


def test_killed_postgres_keeps_what_was_committed(servers: Stack) -> None:
    url = servers.environment()["DATABASE_URL"]
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("create table if not exists committed as select 7 as number")
    killed = servers.kill("postgres")
    connection.close()
    assert eventually(lambda: servers.pid("postgres") not in (None, killed))
    servers.wait_ready("postgres", 15.0)
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("select number from committed")
        assert cursor.fetchall() == [(7,)]
    connection.close()


def test_killed_launcher_leaves_no_second_server(servers: Stack) -> None:
    launcher = servers.site.process("valkey", "launcher")
    before = servers.pid("valkey")
    assert launcher is not None
    proc.send(launcher.pid, signal.SIGKILL)
    assert eventually(lambda: servers.pid("valkey") not in (None, before))
    servers.wait_ready("valkey", 15.0)
    tags = [servers.site.tag, f"{TAG_PART}=valkey"]
    assert len(proc.tagged(tags)) == 2  # one launcher, one server


def test_nothing_outlives_a_killed_supervisor(make_stack: MakeStack) -> None:
    stack = make_stack("postgres", "valkey", "broker-rot-1")
    stack.up()
    supervisor = stack.site.supervisor()
    assert supervisor is not None
    postgres = stack.pid("postgres")
    assert postgres is not None
    backends = proc.descendants(postgres)
    assert backends
    proc.send(supervisor.pid, signal.SIGKILL)
    assert eventually(lambda: living(stack.site.state_dir) == [])
    assert [pid for pid in backends if proc.start_ticks(pid) is not None] == []
    # And the next start finds nothing in its way.
    stack.up()
    assert stack.is_ready("postgres")


def test_everything_killed_at_once_is_swept_up(make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    stack.up()
    supervisor, launcher = stack.site.supervisor(), stack.site.process("valkey", "launcher")
    assert supervisor is not None
    assert launcher is not None
    for identity in (supervisor, launcher):
        freeze(identity.pid)  # neither can help the other any more
    for identity in (supervisor, launcher):
        proc.send(identity.pid, signal.SIGKILL)
    stack.down()
    assert living(stack.site.state_dir) == []


def test_killing_what_does_not_run_is_refused(servers: Stack) -> None:
    with pytest.raises(StackError, match="worker does not run"):
        servers.kill("worker")


def test_stubborn_tree_is_ended_whole() -> None:
    """Children that ignore TERM and leave their parent's session."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    parent = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {deaf!r}], start_new_session=True)\n"
        "print('started', flush=True)\n"
        "time.sleep(60)"
    )
    mark = f"{TAG_STACK}=stubborn-{time.time_ns()}"
    name, value = mark.split("=")
    child = subprocess.Popen(
        [sys.executable, "-c", parent],
        env=plain_environment(**{name: value}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    assert eventually(lambda: len(proc.tagged([mark])) == 2)
    time.sleep(0.3)  # until the grandchild ignores the signal; earlier it would just end
    met = proc.end(lambda: proc.tagged([mark]), ((signal.SIGTERM, 0.5),))
    child.communicate(timeout=5)
    assert len(met) == 2
    assert proc.tagged([mark]) == []


@pytest.mark.slow
def test_killed_spark_comes_back_and_asks_for_its_token(make_stack: MakeStack) -> None:
    stack = make_stack("spark")
    stack.up()
    killed = stack.kill("spark")
    assert eventually(lambda: stack.pid("spark") not in (None, killed))
    stack.wait_ready("spark", 120.0)
    done = subprocess.run(
        [sys.executable, "-c", WITH_AND_WITHOUT_TOKEN],
        env=plain_environment(**stack.environment()),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.stdout.split() == ["3", "refused"], done.stderr


def test_state_directory_moves_with_its_data(make_stack: MakeStack, tmp_path: Path) -> None:
    stack = make_stack("valkey")
    stack.up()
    stack.down()
    moved = stack.site.state_dir.rename(tmp_path / "moved")
    again = make_stack("valkey", state_dir=moved)
    again.up()
    assert again.is_ready("valkey")
