"""How fast a vote becomes an order; run with `-s` for the figures."""

import statistics
import time

import pytest

from apps.executions.services import document_cache as desk
from tests.factories.fleet import shift, start

pytestmark = pytest.mark.slow
ROUNDS = 10
NEVER_S = 60.0
"""No look but for news: a wake-up that is lost fails the test, a slow machine does not."""


def test_from_the_last_vote_to_the_commit_at_all_who_wait(harbour, agents, monkeypatch):
    monkeypatch.setattr(desk, "RECHECK_S", NEVER_S)
    took, worked = [], []
    there, back = ("a", "b", "c"), ("a", "c", "b")
    for turn in range(ROUNDS):
        execution = start(harbour.system, [shift(*(there if turn % 2 == 0 else back))])
        for agent in (agents[x] for x in "abc"):
            agent.poll_now()
        agents["a"].answer("ready")
        agents["b"].answer("ready")
        order = agents["c"].document.orders[0]
        for agent in (agents[x] for x in "abc"):
            agent.poll_now()
        waiting = [agents[x].asking() for x in "abc"]
        time.sleep(0.05)
        began, cpu = time.perf_counter(), time.process_time()
        agents["c"].say({"action": order.action, "attempt": order.attempt, "phase": "ready"})
        for poll in waiting:
            body = poll.result(NEVER_S / 2).json()
            assert [o["phase"] for o in body["orders"]] == ["commit"]
        took.append(time.perf_counter() - began)
        worked.append(time.process_time() - cpu)
        for x in "abc":
            agents[x].answer("switched")
        execution.refresh_from_db()
        assert execution.state == "succeeded"
    took.sort()
    print(
        f"\nlast vote -> commit at 3 pollers: median {statistics.median(took) * 1000:.1f} ms, "
        f"p90 {took[int(0.9 * ROUNDS)] * 1000:.1f} ms, max {took[-1] * 1000:.1f} ms; "
        f"CPU of application and test client {statistics.median(worked) * 1000:.1f} ms"
    )
