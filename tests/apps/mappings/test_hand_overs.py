"""Flows on their way over the API: what agents report of hand-overs between streams."""

from dataclasses import replace
from typing import Any

import pytest

from apps.mappings.selectors import hand_overs
from tests.factories import make_system
from tests.factories.map_followers import Exchange, Follower, handed, make_exchange
from weir.coordination.wire import HandOverPhase, StreamPlace

pytestmark = pytest.mark.django_db

DONE, DRAINING, PREPARING = HandOverPhase.DONE, HandOverPhase.DRAINING, HandOverPhase.PREPARING


@pytest.fixture
def exchange() -> Exchange:
    return make_exchange()


def read(api: Any, system: Any) -> Any:
    answer = api.get("/api/v1/hand-overs", {"system": str(system.public_id)})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_shows_what_every_agent_reports_those_under_way_first(api, exchange):
    a, b = (Follower(exchange.brokers[name]).come() for name in "ab")
    done = replace(handed(DONE), took_s=0.0054)
    a.follow(gold=done)
    b.follow(
        gold=replace(handed(PREPARING), began_at=1_700_000_001.5),
        silver=replace(handed(DRAINING, next=StreamPlace(group=12, stream=2)), unready=1),
        tin=replace(done, began_at=1_700_000_002.0, took_s=0.5, unready=2),
    )
    body = read(api, exchange.system)
    figures = {key: value for key, value in body.items() if key != "rows"}
    assert figures == {
        "brokers": 2,
        "moving": 2,
        "done": 2,
        "median_s": 0.5,
        "longest_s": 0.5,
        "unready": 3,
    }
    places = [(row["broker_name"], row["flow"], row["phase"]) for row in body["rows"]]
    assert places == [
        ("b", "gold", "preparing"),
        ("b", "silver", "draining"),
        ("b", "tin", "done"),
        ("a", "gold", "done"),
    ]
    assert body["rows"][0] == {
        "flow": "gold",
        "broker": str(exchange.brokers["b"].public_id),
        "broker_name": "b",
        "from_stream": 1,
        "from_group": 11,
        "to_stream": 2,
        "to_group": 12,
        "phase": "preparing",
        "began_at": "2023-11-14T22:13:21.500000Z",
        "took_s": None,
        "unready": 0,
    }


def test_counts_agents_that_send_on_streams_alone(api, exchange):
    assert read(api, exchange.system)["brokers"] == 0
    old, silent, revoked = (Follower(exchange.brokers[name]).come() for name in "abc")
    old.say(old.sees())
    revoked.follow(gold=handed(DONE))
    revoked.row.__class__.objects.filter(pk=revoked.row.pk).update(revoked_at="2026-01-01T00:00Z")
    assert silent.row.observed is None
    assert read(api, exchange.system) == {
        **{"brokers": 0, "moving": 0, "done": 0, "unready": 0, "rows": []},
        **{"median_s": None, "longest_s": None},
    }
    old.follow()
    assert read(api, exchange.system)["brokers"] == 1
    assert read(api, make_system("empty"))["brokers"] == 0


def test_figures_are_of_all_and_rows_of_the_first(api, exchange, monkeypatch):
    monkeypatch.setattr(hand_overs, "MOST_SHOWN", 3)
    flows = {f"f{n}": replace(handed(DONE), took_s=n / 1000) for n in range(9)}
    Follower(exchange.brokers["a"]).come().follow(**flows)
    body = read(api, exchange.system)
    assert (body["done"], body["median_s"], body["longest_s"]) == (9, 0.004, 0.008)
    assert len(body["rows"]) == 3


def test_needs_a_system(api):
    answer = api.get("/api/v1/hand-overs")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "system"
