"""What orchestrators and Prometheus ask of the web process."""

import pytest

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
