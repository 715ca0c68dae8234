"""What orchestrators and Prometheus ask of the web process."""

import pytest

from tests.factories.kinds import make_world
from tests.factories.runs import make_run

pytestmark = pytest.mark.django_db


def test_alive(client):
    assert client.get("/livez").json() == {"status": "alive"}


def test_ready_when_postgres_and_valkey_answer(client):
    answer = client.get("/readyz")
    assert answer.status_code == 200, answer.content
    assert answer.json()["parts"] == {"postgres": "ok", "valkey": "ok"}


def test_not_ready_without_valkey_and_says_so(client, settings):
    settings.WEIR_BROKER_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"]["valkey"].startswith("away")


def test_metrics_count_runs_by_state(client):
    make_run(make_world().system)
    answer = client.get("/metrics")
    assert answer["Content-Type"].startswith("text/plain")
    assert b'weir_runs{state="queued"} 1' in answer.content
