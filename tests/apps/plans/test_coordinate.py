"""The coordinator: it goes on whatever fails, and ends when it is told to."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from apps.accounts.domain.roles import Role
from apps.common.events import publish
from apps.common.loops import LEAST_PAUSE_S, Loop, run_loops
from tests.factories import make_user
from tests.factories.fleet import make_harbour
from tests.factories.plans import edit_model, make_plan

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0


def until(true: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


class Running:
    """Loops in a thread, as the command runs them."""

    def __init__(
        self, *loops: tuple[Any, ...], wake_on: str = "", quiet_s: float | None = None
    ) -> None:
        """A loop is a function, how often it is called, and perhaps its least pause, s."""
        self.stop = threading.Event()
        self.loops = [
            Loop(
                name=f"loop{index}",
                function=function,
                every_s=every_s,
                stop=self.stop,
                least_pause_s=(*least_pause_s, LEAST_PAUSE_S)[0],
                quiet_s=quiet_s,
            )
            for index, (function, every_s, *least_pause_s) in enumerate(loops)
        ]
        self.sound: bool | None = None
        kinds = frozenset({wake_on} - {""})
        self._thread = threading.Thread(target=self._run, args=(kinds,))
        self._thread.start()

    def _run(self, kinds: frozenset[str]) -> None:
        self.sound = run_loops(self.loops, stop=self.stop, wake_on=kinds)

    def end(self) -> bool | None:
        self.stop.set()
        self._thread.join(PATIENCE_S)
        return self.sound


def test_failing_loop_is_logged_and_called_again(caplog: pytest.LogCaptureFixture) -> None:
    calls = {"broken": 0, "sound": 0}

    def broken() -> None:
        calls["broken"] += 1
        raise ValueError("sunk")

    def sound() -> None:
        calls["sound"] += 1

    running = Running((broken, 0.05), (sound, 0.05))
    until(lambda: calls["broken"] >= 2 and calls["sound"] >= 5)
    assert running.end() is True
    assert "loop0 failed; it is called again" in caplog.text


def test_a_loop_that_had_nothing_to_do_is_called_seldom() -> None:
    calls: list[int] = []
    busy_calls: list[int] = []

    def work() -> int:
        calls.append(max(0, 3 - len(calls)))
        return calls[-1]

    def busy() -> int:
        busy_calls.append(len(calls))
        return 1

    running = Running((work, 0.05), (busy, 0.05), quiet_s=3600.0)
    # The other one has been called often enough since.
    until(lambda: busy_calls.count(4) == 10)
    assert calls == [3, 2, 1, 0]
    assert running.end() is True


@pytest.mark.django_db(transaction=True)
def test_news_wakes_a_loop_before_its_turn() -> None:
    calls: list[float] = []
    running = Running((lambda: calls.append(time.monotonic()), 3600.0), wake_on="plan")
    until(lambda: len(calls) == 1)

    def told() -> bool:
        publish("telemetry", system="x")
        publish("plan", id="x")
        return len(calls) >= 2

    until(told)
    assert running.end() is True


@pytest.mark.django_db(transaction=True)
def test_news_wake_no_loop_before_its_least_pause() -> None:
    calls = {"eager": 0, "seldom": 0}

    def eager() -> None:
        calls["eager"] += 1

    def seldom() -> None:
        calls["seldom"] += 1

    running = Running((eager, 3600.0), (seldom, 3600.0, 3600.0), wake_on="plan")

    def woken() -> bool:
        publish("plan", id="x")
        return calls["eager"] >= 3

    until(woken)
    assert running.end() is True
    assert calls["seldom"] == 1


@pytest.mark.django_db(transaction=True)
def test_lost_connection_is_opened_again(caplog: pytest.LogCaptureFixture) -> None:
    backends: list[int] = []

    def work() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            row = cursor.fetchone()
            assert row is not None
            if row[0] not in backends:
                backends.append(row[0])

    running = Running((work, 0.05))
    until(lambda: len(backends) == 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", backends)
    until(lambda: len(backends) == 2)
    assert running.end() is True
    assert "database away, waiting" in caplog.text
    assert "the database is back" in caplog.text


def test_loop_that_does_not_exist_is_named(settings: Any) -> None:
    settings.WEIR_LOOPS = [("apps.plans.services.plans_unsettle", 1.0, 1.0, 1.0)]
    with pytest.raises(CommandError, match=r"apps\.plans\.services\.plans_unsettle"):
        call_command("coordinate", "--once")


@pytest.mark.django_db
def test_every_loop_of_the_settings_can_be_called() -> None:
    harbour = make_harbour()
    plan = make_plan(harbour.system, None)
    edit_model(harbour)
    call_command("coordinate", "--once")
    plan.refresh_from_db()
    assert plan.state == "stale"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_process_settles_survives_and_ends_on_sigterm() -> None:
    database = connection.settings_dict
    address = "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(
        **{name: quote(str(database[name]), safe="") for name in ("USER", "PASSWORD", "NAME")},
        HOST=database["HOST"],
        PORT=database["PORT"],
    )
    process = subprocess.Popen(
        [sys.executable, "manage.py", "coordinate"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": address, "WEIR_BROKER_URL": settings.WEIR_BROKER_URL},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        harbour = make_harbour()
        ines = make_user("ines", Role.EDITOR)
        for title in ("Spring tide", "Neap tide"):
            plan = make_plan(harbour.system, ines, title=title)
            edit_model(harbour, ines)

            def stale(plan: Any = plan) -> bool:
                plan.refresh_from_db()
                return bool(plan.state == "stale")

            until(stale)
            # As after a restart of Postgres: every connection but ours is gone.
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, log
    assert "coordinator stopped" in log
