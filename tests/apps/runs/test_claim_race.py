"""Two workers and one run."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.runs.services import run_claim, runs_reap
from tests.factories.kinds import make_world
from tests.factories.runs import claim, make_run
from weir.lifecycle.runs import RunState

pytestmark = pytest.mark.django_db(transaction=True)


def together(*actions):
    gate = threading.Barrier(len(actions))

    def go(action):
        try:
            gate.wait(timeout=60)
            return action()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(go, actions))


def test_of_workers_that_claim_one_run_exactly_one_gets_it(sent):
    run = make_run(make_world().system)
    claims = together(*[lambda: run_claim(run=run.public_id)] * 4)
    assert sum(c is not None for c in claims) == 1
    run.refresh_from_db()
    assert run.attempt == 1


def test_reapers_that_meet_reap_a_run_once(sent, settings):
    run = make_run(make_world().system)
    claim(run)
    settings.WEIR_RUN_SILENCE_S = 0.0
    together(runs_reap, runs_reap)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    assert run.events.filter(command="retry").count() == 1
