"""The small pieces: ports, environment, configuration, what counts as changed code."""

import configparser
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from config.stack import StackError, code, ports, proc
from config.stack.environment import compute, resolve_files
from config.stack.parts import PARTS
from config.stack.site import Site
from config.stack.supervisor import configuration
from tests.stack.support import eventually

pytestmark = pytest.mark.stack


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site.open(tmp_path / "state")
    made.make()
    numbers = iter(range(40000, 40100))
    made.ports = {name: next(numbers) for part in PARTS.values() for name in part.ports}
    return made


def test_every_part_can_stop_and_says_what_to_do() -> None:
    for name, part in PARTS.items():
        assert part.name == name
        assert part.advice
        assert part.stop
        assert set(part.needs) <= set(PARTS)
        assert bool(part.address) or not part.ports


def test_parts_start_after_what_they_need() -> None:
    order = list(PARTS)
    for part in PARTS.values():
        assert all(order.index(need) < order.index(part.name) for need in part.needs)


def test_environment_names_every_server(site: Site) -> None:
    values = compute(site, PARTS, {})
    assert values["DATABASE_URL"].startswith("postgres://weir:")
    assert values["WEIR_BROKER_URL"].endswith(f"@127.0.0.1:{site.ports['valkey']}/0")
    assert values["WEIR_SPARK_REMOTE"] == f"sc://localhost:{site.ports['spark']}"
    assert values["WEIR_WEB_URL"] == f"http://127.0.0.1:{site.ports['web']}"
    assert values["DJANGO_SETTINGS_MODULE"] == "config.settings.dev"


def test_environment_of_the_caller_wins(site: Site) -> None:
    given = {"DATABASE_URL": "postgres://me@db/mine", "DJANGO_SETTINGS_MODULE": "config.settings.x"}
    site.external = {"postgres"}
    values = compute(site, PARTS, given)
    assert values["DATABASE_URL"] == "postgres://me@db/mine"
    assert values["DJANGO_SETTINGS_MODULE"] == "config.settings.x"


def test_marks_of_another_stack_are_not_passed_on(site: Site) -> None:
    values = compute(site, PARTS, {"WEIR_STACK_ID": "other", "WEIR_STACK_PART": "web", "HOME": "/"})
    assert not {"WEIR_STACK_ID", "WEIR_STACK_PART", "HOME"} & set(values)


def test_secret_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgres://me@db/mine\n")
    assert resolve_files({"DATABASE_URL_FILE": str(tmp_path / "url"), "SSL_CERT_FILE": "/x"}) == {
        "DATABASE_URL": "postgres://me@db/mine",
        "SSL_CERT_FILE": "/x",
    }
    with pytest.raises(StackError, match="DATABASE_URL_FILE=/nowhere cannot be read"):
        resolve_files({"DATABASE_URL_FILE": "/nowhere"})


def test_configuration_has_one_program_per_part(site: Site) -> None:
    parser = configparser.RawConfigParser()
    parser.read_string(configuration(site, PARTS.values()))
    programs = {name for name in parser.sections() if name.startswith("program:")}
    assert programs == {f"program:{name}" for name in PARTS}
    for name, part in PARTS.items():
        assert float(parser[f"program:{name}"]["stopwaitsecs"]) > part.stop_s


def test_port_is_not_promised_twice(tmp_path: Path) -> None:
    first = ports.choose(41000, "one stack")
    second = ports.choose(41000, "another stack")
    assert first != second
    assert ports.choose(41000, "one stack", {first}) not in (first, second)


def test_listening_port_is_not_free() -> None:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        assert not ports.is_free(server.getsockname()[1])


def test_code_counts_as_changed_when_a_file_changes(tmp_path: Path) -> None:
    (tmp_path / "weir").mkdir()
    source = tmp_path / "weir" / "model.py"
    source.write_text("one")
    before = code.fingerprint(tmp_path)
    assert code.fingerprint(tmp_path) == before
    source.write_text("two")
    assert code.fingerprint(tmp_path) != before


def test_process_number_used_again_is_another_process() -> None:
    us = proc.identify(1)
    assert us is not None
    assert us.alive()
    assert not proc.Identity(1, us.start_ticks + 1).alive()


def test_process_that_nobody_collected_is_gone_and_left_to_its_parent() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import os; os._exit(3)"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
    assert proc.identify(child.pid) is None
    assert child.pid not in proc.descendants(os.getpid())
    assert proc.wait_gone([child.pid], 5.0)
    assert child.wait() == 3


def test_descendants_are_found_below_their_parents() -> None:
    sleep = "import time; time.sleep(60)"
    below = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {sleep!r}]).wait()"
    child = subprocess.Popen([sys.executable, "-c", below], start_new_session=True)
    try:
        assert eventually(lambda: len(proc.descendants(child.pid)) == 1)
        ours = proc.descendants(os.getpid())
        grandchild = proc.descendants(child.pid)[0]
        assert ours.index(child.pid) < ours.index(grandchild)
    finally:
        proc.end(lambda: [child.pid, *proc.descendants(child.pid)], ((signal.SIGKILL, 5.0),))
        child.wait()
    assert proc.descendants(child.pid) == []


def test_mark_is_compared_whole() -> None:
    mark = f"WEIR_TEST_MARK=one{os.getpid()}"
    name, value = mark.split("=")
    child = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"],
        env={**os.environ, name: value, "WEIR_TEST_EMPTY": ""},
    )
    try:
        assert eventually(lambda: proc.tagged([mark, "WEIR_TEST_EMPTY="]) == [child.pid])
        assert proc.tagged([mark[:-1]]) == []
        assert proc.tagged([mark, "WEIR_TEST_OTHER=1"]) == []
    finally:
        child.kill()
        child.wait()
    assert not proc.carries(child.pid, [mark])


def test_ending_nothing_is_quick() -> None:
    assert proc.end(list, ((signal.SIGTERM, 5.0),)) == []
