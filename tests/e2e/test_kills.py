"""Any one process killed with -9 during a run: the system recovers, and the run tells no lie."""

import time

import pytest

from config.stack import Stack
from tests.e2e.api import Api, computing, ended

pytestmark = pytest.mark.e2e

# Long enough to be killed in the middle, short enough to be waited for.
LONG = {"method": "lrgp", "parameters": {"max_iterations": 8_000, "patience": 1_000_000}}
ENDLESS = {"method": "lrgp", "parameters": {"max_iterations": 1_000_000, "patience": 1_000_000}}
SYSTEM = "Base workload"


def kill_and_wait(weir: Stack, part: str) -> None:
    """Kill the part's process; come back when its successor answers."""
    killed = weir.kill(part)
    deadline = time.monotonic() + 60
    while weir.pid(part) in (killed, None):
        assert time.monotonic() < deadline, f"{part} was not started again"
        time.sleep(0.1)
    weir.wait_ready(part, 60)


@pytest.mark.parametrize(
    "part",
    [
        "worker",
        pytest.param("spark", marks=pytest.mark.thorough),
        *("postgres", "web", "valkey", "control"),
    ],
)
def test_run_survives_kill_of(part: str, weir: Stack, rest: Api) -> None:
    run = rest.optimize(SYSTEM, **LONG)
    rest.wait(run, computing, 60)

    kill_and_wait(weir, part)

    finished = rest.wait(run, ended, 90)
    assert finished["state"] == "succeeded", finished["failure"]
    assert finished["allocation"] is not None
    # The system takes new work at once.
    again = rest.wait(rest.optimize(SYSTEM), ended, 60)
    assert again["state"] == "succeeded", again["failure"]


def test_worker_killed_after_cancel_was_asked_leaves_a_cancelled_run(
    weir: Stack, rest: Api
) -> None:
    run = rest.optimize(SYSTEM, **ENDLESS)
    rest.wait(run, computing, 60)
    weir.kill("worker")
    answer = rest.post(f"{run}/cancel")
    assert answer.status_code in (202, 409), answer.text

    finished = rest.wait(run, ended, 60)

    assert finished["state"] == "cancelled"
    weir.wait_ready("worker", 60)


def test_cancel_ends_a_running_run(rest: Api) -> None:
    run = rest.optimize(SYSTEM, **ENDLESS)
    rest.wait(run, computing, 60)

    assert rest.post(f"{run}/cancel").status_code == 202
    # The promise to people is two seconds; the machine of a test may be busy.
    finished = rest.wait(run, ended, 60)

    assert finished["state"] == "cancelled"
    # Its Spark task is gone: a run that needs both slots is not kept waiting by a ghost.
    both = [rest.optimize(SYSTEM), rest.optimize(SYSTEM)]
    for path in both:
        assert rest.wait(path, ended, 60)["state"] == "succeeded"


def test_two_runs_at_once_both_make_progress(rest: Api) -> None:
    # The second may come seconds later where its process is new; the first must not end before.
    first = rest.optimize(SYSTEM, **ENDLESS)
    second = rest.optimize("Meridian", **ENDLESS)

    rest.wait(first, computing, 60)
    rest.wait(second, computing, 60)
    assert rest.get(first)["state"] == "running"

    for path in (first, second):
        rest.post(f"{path}/cancel")
        rest.wait(path, ended, 60)


def test_rerun_gives_the_same_numbers_to_the_last_bit(rest: Api) -> None:
    first = rest.wait(rest.optimize("Meridian", seed=7), ended, 60)
    answer = rest.post(f"/api/v1/runs/{first['id']}/rerun")
    second = rest.wait(answer.headers["Location"], ended, 60)

    assert second["snapshot_hash"] == first["snapshot_hash"]
    assert second["result_hash"] == first["result_hash"]
    assert second["id"] != first["id"]
