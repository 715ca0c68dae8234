"""Starting, starting again, stopping: what a user of `make up` and `make down` relies on."""

import json
import os
import signal
import socket
import stat
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis

from config.stack import PartError, Stack, StackError, code, proc
from config.stack.kernels import NICEST, compile_behind
from config.stack.parts import PARTS
from config.stack.site import ROOT, Site, write_json
from tests.stack.support import MakeStack, command, eventually, living, plain_environment, run

pytestmark = pytest.mark.stack


def query(stack: Stack, text: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(stack.environment()["DATABASE_URL"])
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def test_data_outlives_down_and_up(make_stack: MakeStack) -> None:
    stack = make_stack("postgres", "valkey")
    stack.up()
    query(stack, "create table kept as select 7 as number")
    queue = redis.Redis.from_url(stack.environment()["WEIR_BROKER_URL"])
    queue.rpush("tasks", "one")
    queue.close()
    addresses = stack.environment()
    stack.down()
    assert living(stack.site.state_dir) == []
    stack.up()
    assert query(stack, "select number from kept") == [(7,)]
    with redis.Redis.from_url(stack.environment()["WEIR_BROKER_URL"]) as queue:
        assert queue.lrange("tasks", 0, -1) == [b"one"]
    assert stack.environment() == addresses


def test_second_up_changes_nothing(servers: Stack) -> None:
    before = {name: servers.pid(name) for name in ("postgres", "valkey")}
    servers.up()
    assert {name: servers.pid(name) for name in ("postgres", "valkey")} == before


def test_adds_a_part_to_a_running_stack(servers: Stack) -> None:
    before = servers.pid("postgres")
    more = Stack(servers.site.state_dir, ("broker-rot-1",), given=plain_environment())
    more.up()
    assert more.is_ready("broker-rot-1")
    assert servers.pid("postgres") == before


def test_takes_another_port_and_says_so(make_stack: MakeStack) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        stack = make_stack("valkey", WEIR_VALKEY_PORT=str(taken))
        stack.up()
    assert stack.site.ports["valkey"] != taken
    assert f"port {taken} is taken" in "\n".join(stack.console.lines)


def test_secrets_are_private_and_needed(servers: Stack) -> None:
    for path in (servers.site.settings_file, servers.site.environment_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(servers.site.state_dir.stat().st_mode) == 0o700
    wrong = servers.environment()["DATABASE_URL"].replace(servers.site.secrets["postgres"], "wrong")
    with pytest.raises(psycopg2.OperationalError, match="password"):
        psycopg2.connect(wrong)
    with (
        redis.Redis(port=servers.site.ports["valkey"]) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_servers_listen_on_loopback_only(servers: Stack) -> None:
    ours = {servers.site.ports["postgres"], servers.site.ports["valkey"]}
    listening = {
        (row.laddr.port, row.laddr.ip)
        for row in psutil.net_connections("inet")
        if row.status == psutil.CONN_LISTEN and row.laddr.port in ours
    }
    assert listening == {(port, "127.0.0.1") for port in ours}


def test_lost_settings_do_not_lock_the_database(make_stack: MakeStack) -> None:
    stack = make_stack("postgres")
    stack.up()
    query(stack, "create table kept as select 7 as number")
    stack.down()
    stack.site.settings_file.unlink()
    again = make_stack("postgres")
    again.up()
    assert query(again, "select number from kept") == [(7,)]


def test_long_state_path_gets_a_short_socket(make_stack: MakeStack, tmp_path: Path) -> None:
    state_dir = tmp_path / ("long " * 25).strip() / "100% state"
    stack = make_stack("valkey", state_dir=state_dir)
    stack.up()
    assert len(os.fsencode(stack.site.supervisor_socket)) < 100
    assert stack.is_ready("valkey")
    stack.down()
    assert not stack.site.supervisor_socket.parent.exists()


def test_failing_part_is_explained_and_leaves_nothing(make_stack: MakeStack) -> None:
    stack = make_stack("postgres", "valkey")
    occupied = stack.site.data_dir / "postgres"
    occupied.mkdir(parents=True)
    (occupied / "letter.txt").write_text("not a database")
    with pytest.raises(PartError) as caught:
        stack.up()
    message = str(caught.value)
    assert "postgres cannot start" in message
    assert "something other than a Postgres cluster" in message
    assert "What to do:" in message
    assert living(stack.site.state_dir) == []


def test_time_before_a_part_was_started_is_not_held_against_it(servers: Stack) -> None:
    """An hour of bringing tables up to date, say; the web server has its whole minute after it."""
    looks = iter(["still starting"])
    late = replace(PARTS["valkey"], ready=lambda site: next(looks, None))
    servers._await([late], time.monotonic() - 3600.0)
    assert next(looks, None) is None


def test_failing_part_leaves_what_ran_before(make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    stack.up()
    before = stack.pid("valkey")
    (stack.site.data_dir / "postgres").mkdir()
    (stack.site.data_dir / "postgres" / "letter.txt").write_text("not a database")
    with pytest.raises(PartError, match="postgres cannot start"):
        make_stack("postgres", "valkey").up()
    assert stack.pid("valkey") == before
    assert stack.is_ready("valkey")
    assert stack.supervisor.states()["postgres"] == "STOPPED"


def test_own_server_out_of_reach_is_named(make_stack: MakeStack) -> None:
    stack = make_stack("valkey", WEIR_BROKER_URL="redis://127.0.0.1:1/0")
    with pytest.raises(PartError, match="WEIR_BROKER_URL names cannot be reached"):
        stack.up()
    assert living(stack.site.state_dir) == []


def test_own_server_is_used_instead(make_stack: MakeStack, servers: Stack) -> None:
    url = servers.environment()["DATABASE_URL"]
    stack = make_stack("postgres", "valkey", DATABASE_URL=url)
    stack.up()
    assert stack.environment()["DATABASE_URL"] == url
    assert stack.pid("postgres") is None
    assert {row.part: row.state for row in stack.status()}["postgres"] == "external"


def test_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="no part kafka; there are: postgres"):
        Stack(tmp_path, ("kafka",))


def test_two_at_once_start_one_stack(tmp_path: Path, make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    both = [
        subprocess.Popen(
            command(stack.site.state_dir, "up", "--parts", "valkey"),
            cwd=ROOT,
            env=plain_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [child.communicate(timeout=30)[0] for child in both]
    assert [child.returncode for child in both] == [0, 0], outputs
    part = [f"WEIR_STACK_PART={name}" for name in ("valkey",)]
    assert len(proc.tagged([Site.open(stack.site.state_dir).tag, *part])) == 2  # launcher, server


def test_interrupted_up_leaves_nothing(make_stack: MakeStack) -> None:
    stack = make_stack("valkey", "spark")
    child = subprocess.Popen(
        command(stack.site.state_dir, "up", "--parts", "valkey,spark"),
        cwd=ROOT,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if "valkey       ready" in line:
            break
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130
    assert living(stack.site.state_dir) == []


def test_attached_up_ends_with_everything(make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    child = subprocess.Popen(
        command(stack.site.state_dir, "up", "--parts", "valkey", "--attach"),
        cwd=ROOT,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("Following"):
            break
    assert len(living(stack.site.state_dir)) == 3
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 0
    assert living(stack.site.state_dir) == []


def test_command_line_tells_how_it_is(servers: Stack) -> None:
    state_dir = servers.site.state_dir
    rows = {row["part"]: row for row in json.loads(run(state_dir, "status", "--json").stdout)}
    assert rows["postgres"]["state"] == "ready"
    assert rows["postgres"]["pid"] == servers.pid("postgres")
    assert rows["postgres"]["port"] == servers.site.ports["postgres"]
    assert rows["spark"]["state"] == "stopped"
    lines = run(state_dir, "env").stdout.splitlines()
    assert f"DATABASE_URL={servers.environment()['DATABASE_URL']}" in lines
    assert "Ready to accept connections" in run(state_dir, "logs", "valkey").stdout
    unknown = run(state_dir, "logs", "kafka")
    assert unknown.returncode == 1
    assert "no log of kafka" in unknown.stderr


def test_down_without_a_stack_says_so(tmp_path: Path) -> None:
    done = run(tmp_path / "never", "down")
    assert done.returncode == 0
    assert "nothing runs" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("others", "behind"),
    [
        (("broker-rot-1",), ["brokers"]),
        pytest.param(("spark", "broker-rot-1"), ["spark", "brokers"], marks=pytest.mark.thorough),
    ],
)
def test_pages_answer_before_the_rest_where_that_is_wished(
    make_stack: MakeStack, others: tuple[str, ...], behind: list[str]
) -> None:
    stack = make_stack("web", *others)
    assert stack.up(page_first=True) == behind
    assert stack.is_ready("web")
    for part in others:
        stack.wait_ready(part, 90.0)
    assert stack.up(page_first=True) == []
    stack.down()
    assert living(stack.site.state_dir) == []


def test_kernels_compile_behind_what_runs_and_end_with_it(make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    stack.up()
    compile_behind(stack.site)
    compile_behind(stack.site)
    (compiler,) = [
        pid
        for pid in living(stack.site.state_dir)
        if "config.stack.kernels" in " ".join(psutil.Process(pid).cmdline())
    ]
    assert eventually(lambda: psutil.Process(compiler).nice() == NICEST)
    stack.down()
    assert living(stack.site.state_dir) == []


def test_kernels_compiled_for_this_code_are_left_alone(make_stack: MakeStack) -> None:
    stack = make_stack("valkey")
    stack.up()
    write_json(stack.site.data_dir / "kernels.json", {"code": code.fingerprint()})
    before = living(stack.site.state_dir)
    compile_behind(stack.site)
    assert living(stack.site.state_dir) == before
