"""Placements over the API: asked for, listed, read, tried with changes."""

from typing import Any

import pytest

from apps.accounts.domain.roles import Role
from apps.catalog.models import Topic
from apps.common import computing
from apps.placements.models import Placement
from apps.placements.services import what_if as module
from apps.runs.models import Run, Snapshot
from apps.topology.models import Broker
from tests.conftest import client_of
from tests.factories import make_broker, make_system, make_topic, make_user
from tests.factories.streets import Streets, make_streets, place, placed

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/placements"


@pytest.fixture
def streets() -> Streets:
    return make_streets()


@pytest.fixture
def placement(streets: Streets) -> Placement:
    return place(streets, drained_brokers=[streets.brokers["b2"]], note="For the test")


def body_of(streets: Streets, **values: Any) -> dict[str, Any]:
    return {
        "system": str(streets.system.public_id),
        "topic": str(streets.topic.public_id),
        **values,
    }


def what_if(api: Any, placement: Placement, **changes: Any) -> Any:
    return api.post(f"{ADDRESS}/{placement.public_id}/what-if", changes, format="json")


def test_a_placement_is_asked_for(api, streets):
    answer = api.post(
        ADDRESS,
        body_of(streets, drained_brokers=[str(streets.brokers["b2"].public_id)], note="Why not"),
        format="json",
    )
    assert answer.status_code == 202, answer.content
    run = Run.objects.get(public_id=answer.json()["id"])
    assert (run.kind, run.method, run.state) == ("placement", "srtm", "queued")
    assert answer.headers["Location"] == f"/api/v1/runs/{run.public_id}"


def test_topics_and_brokers_of_other_systems_are_refused(api, streets):
    other = make_system("elsewhere")
    topic, broker = make_topic(other), make_broker(other)
    answer = api.post(ADDRESS, body_of(streets, topic=str(topic.public_id)), format="json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "topic")
    answer = api.post(
        ADDRESS, body_of(streets, drained_brokers=[str(broker.public_id)]), format="json"
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith("drained_brokers")


def test_a_topic_without_a_token_bucket_is_refused_at_its_field(api, streets):
    Topic.objects.filter(name="sensors").update(token_rate_per_s=None, token_bucket=None)
    answer = api.post(ADDRESS, body_of(streets), format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_place")
    assert answer.json()["errors"][0]["field"] == "topic"
    assert "Give sensors a token rate and a burst" in answer.json()["detail"]


def test_placements_are_listed_newest_first_and_filtered(api, streets, placement):
    later = place(streets)
    other = place(make_streets("lanes"))
    rows = api.get(ADDRESS).json()["results"]
    assert [row["id"] for row in rows] == [str(row.public_id) for row in (other, later, placement)]
    for name, value, count in (
        ("system", streets.system.public_id, 2),
        ("topic", streets.topic.public_id, 2),
        ("run", later.run.public_id, 1),
        ("method", "srtm", 3),
        ("method", "max_min", 0),
        ("search", "sensors", 3),
        ("search", "lanes", 1),
    ):
        assert api.get(ADDRESS, {name: value}).json()["count"] == count, name
    meeting = api.get(ADDRESS, {"meets": "true"}).json()["count"]
    missing = api.get(ADDRESS, {"meets": "false"}).json()["count"]
    assert meeting + missing == 3


def test_a_row_has_the_figures_and_no_outcome(api, placement):
    (row,) = api.get(ADDRESS).json()["results"]
    assert (row["name"], row["topic_name"], row["publishers"]) == ("L-1", "sensors", 12)
    assert row["p99_s"] == placement.p99_s
    assert row["slo_p99_s"] == 0.05
    assert row["allowed_commands"] == ["rerun", "what_if", "again", "plan"]
    assert "outcome" not in row


def test_the_list_does_not_ask_once_for_each_row(api, streets, django_assert_max_num_queries):
    for _ in range(3):
        place(streets)
    with django_assert_max_num_queries(12):
        api.get(ADDRESS)


def test_one_is_read_with_its_outcome(api, placement):
    body = api.get(f"{ADDRESS}/{placement.public_id}").json()
    assert body["drained_brokers"] == ["b2"]
    assert body["note"] == "For the test"
    assert body["model_version"] == placement.run.snapshot.model_version
    outcome = body["outcome"]
    assert outcome == placement.outcome
    assert [row["brokers"] for row in outcome["curve"] if row["chosen"]] == [placement.brokers]
    assert {row["broker"] for row in outcome["shares"]} == {"b1", "b2", "b3"}


def test_moves_are_paged_filtered_and_searched(api, placement):
    address = f"{ADDRESS}/{placement.public_id}/moves"
    page = api.get(address, {"page_size": 1, "ordering": "publisher"}).json()
    assert page["count"] == placement.moved
    assert page["next"] is not None
    rows = api.get(address, {"ordering": "publisher"}).json()["results"]
    (mine,) = [row for row in rows if row["publisher"] == "s09"]
    assert mine == {
        "publisher": "s09",
        "group": None,
        "rate_per_s": 50.0,
        "from_broker": "b2",
        "to_broker": mine["to_broker"],
        "must_move": True,
        "p99_without_s": None,
    }
    (new,) = [row for row in rows if row["publisher"] == "s12"]
    assert new["from_broker"] is None
    assert api.get(address, {"from_broker": "b2"}).json()["count"] == 2
    by_target = [api.get(address, {"to_broker": name}).json()["count"] for name in ("b1", "b3")]
    assert sum(by_target) == placement.moved
    assert api.get(address, {"search": "s09"}).json()["count"] == 1


def test_what_if_without_changes_is_the_outcome(api, placement):
    stored = [model.objects.count() for model in (Run, Snapshot, Placement)]
    answer = what_if(api, placement)
    assert answer.status_code == 200, answer.content
    assert answer.json() == placement.outcome
    assert [model.objects.count() for model in (Run, Snapshot, Placement)] == stored


def test_what_if_is_computed_on_what_was_frozen(api, placement):
    Broker.objects.update(publish_rate_max_per_s=None)
    assert what_if(api, placement).json() == placement.outcome


def test_a_larger_bucket_costs_less_delay(api, placement):
    small, large = (
        what_if(api, placement, bucket=bucket).json()["penalty_s"] for bucket in (2.0, 400.0)
    )
    assert large < small


def test_what_if_takes_every_change_together(api, placement):
    outcome = what_if(
        api,
        placement,
        rate_per_s=1200.0,
        token_rate_per_s=1500.0,
        bucket=10.0,
        batch=2,
        group_size=2,
        slo_p99_s=0.2,
        slo_mean_s=0.1,
        drained_brokers=["b3"],
        added_brokers=2,
    ).json()
    assert outcome["contract"] == {
        "rate_per_s": 1200.0,
        "token_rate_per_s": 1500.0,
        "bucket": 10.0,
        "recorded_bucket": None,
        "batch": 2,
        "slo_p99_s": 0.2,
        "slo_mean_s": 0.1,
    }
    shares = {row["broker"]: row for row in outcome["shares"]}
    assert set(shares) == {"b1", "b2", "b3", "new-1", "new-2"}
    assert [name for name, row in shares.items() if row["drained"]] == ["b3"]
    assert shares["b3"]["publishers"] == 0


def test_what_if_nobody_is_drained(api, placement):
    outcome = what_if(api, placement, drained_brokers=[]).json()
    assert not any(row["drained"] for row in outcome["shares"])


def test_what_if_all_are_drained_is_an_answer(api, placement):
    outcome = what_if(api, placement, drained_brokers=["b1", "b2", "b3"]).json()
    assert (outcome["status"], outcome["unassigned"]) == ("infeasible", 12)
    assert outcome["p99_s"] is None


def test_tokens_for_less_than_the_rate_have_no_bound(api, placement):
    outcome = what_if(api, placement, token_rate_per_s=500.0).json()
    assert (outcome["status"], outcome["p99_s"], outcome["meets"]) == ("solved", None, False)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"bucket": 0.5}, "bucket"),
        ({"rate_per_s": 0}, "rate_per_s"),
        ({"token_rate_per_s": -1}, "token_rate_per_s"),
        ({"slo_p99_s": 1e300}, "slo_p99_s"),
        ({"batch": 0}, "batch"),
        ({"group_size": 100_000}, "group_size"),
        ({"added_brokers": 1000}, "added_brokers"),
        ({"drained_brokers": ["b9"]}, "drained_brokers"),
        ({"buckets": 3}, "buckets"),
    ],
)
def test_changes_that_do_not_fit_are_refused_at_their_field(api, placement, changes, field):
    answer = what_if(api, placement, **changes)
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_one_what_if_at_a_time(api, placement, monkeypatch):
    monkeypatch.setattr(computing, "WAIT_S", 0.01)
    with computing.turn(module.WHAT_IFS):
        answer = what_if(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (429, "busy")


@pytest.mark.parametrize(("limit", "value"), [("MOST_PUBLISHERS", 11), ("LONGEST_S", -1.0)])
def test_what_takes_too_long_needs_a_run(api, placement, monkeypatch, limit, value):
    monkeypatch.setattr(module, limit, value)
    answer = what_if(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_large_to_place")
    assert "start a placement" in answer.json()["detail"]


def test_methods_are_listed_with_their_parameters(api):
    rows = {row["name"]: row for row in api.get("/api/v1/placement-methods").json()["results"]}
    assert set(rows) == {"srtm", "max_min", "concentrated", "load_balanced"}
    assert [name for name, row in rows.items() if row["is_default"]] == ["srtm"]
    assert rows["srtm"]["parameters"][0]["name"] == "stay"


def test_readers_read_and_start_nothing(streets, placement):
    viewer = client_of(make_user("looks-on", Role.VIEWER))
    assert viewer.get(f"{ADDRESS}/{placement.public_id}").status_code == 200
    assert viewer.get(ADDRESS).json()["results"][0]["allowed_commands"] == []
    assert what_if(viewer, placement).status_code == 403
    assert viewer.post(ADDRESS, body_of(streets), format="json").status_code == 403


def test_an_infeasible_run_explains_itself(api, streets):
    Broker.objects.filter(name__in=["b2", "b3"]).update(publish_rate_max_per_s=10.0)
    Broker.objects.filter(name="b1").update(publish_rate_max_per_s=400.0)
    run = placed(streets)
    body = api.get(f"/api/v1/runs/{run.public_id}").json()
    assert (body["state"], body["answer"]) == ("infeasible", None)
    assert body["infeasibility"]["sentence"] in body["failure"]
    assert body["infeasibility"]["rooms"][0]["broker"]
