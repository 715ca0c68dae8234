"""Asking for an evaluation: what is frozen, and what is refused with its reason."""

import json

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.audit.models import AuditEntry
from apps.catalog.models import Group, Stream, Subscriber, Topic
from apps.evaluations.models import Evaluation, TrafficSource
from apps.evaluations.selectors.traffic import traffic_now
from apps.evaluations.services import evaluation_request
from apps.runs.models import Run
from apps.systems.services import entity_create, entity_update
from apps.telemetry.domain.payload import telemetry_checked
from apps.telemetry.models import Sample
from tests.factories import make_broker, make_system
from tests.factories.overlays import Row, make_row, make_tree

pytestmark = pytest.mark.django_db


@pytest.fixture
def row() -> Row:
    return make_row()


def post(api, body, **headers):
    return api.post("/api/v1/overlay-evaluations", body, format="json", headers=headers)


def measure(row: Row, **brokers) -> None:
    """One sample of every broker, now; those not named measured nothing."""
    for name, broker in row.brokers.items():
        payload = {"interval_s": 1.0, "flows": {}, "classes": {}, "links": {}}
        Sample.objects.create(
            broker=broker, at=timezone.now(), payload={**payload, **brokers.get(name, {})}
        )


def test_traffic_of_the_model_is_what_topics_send_and_classes_want(row):
    reading = traffic_now(row.system)
    assert reading.source == TrafficSource.MODEL
    assert "a and 4 more measure nothing now" in reading.detail
    assert reading.pairs() == {("a", "e"): 100.0, ("b", "c"): 10.0}
    assert reading.subscribers == {"news": {"e": 10}, "local": {"c": 10}}


def test_measured_traffic_is_the_mean_over_the_window(row):
    sent = {"flows": {"news": {"passed_per_s": 30.0}}}
    heard = {"classes": {"readers-news": {"admitted": 4, "delivered_per_s": 120.0}}}
    measure(row, a=sent, e=heard)
    Sample.objects.create(
        broker=row.brokers["a"],
        at=timezone.now(),
        payload={"interval_s": 3.0, "flows": {"news": {"passed_per_s": 10.0}}},
    )
    reading = traffic_now(row.system)
    assert reading.source == TrafficSource.MEASURED
    assert reading.pairs() == {("a", "e"): 15.0}
    assert reading.subscribers == {"news": {"e": 4}}


def test_subscribers_of_mapped_topics_draw_them_as_consumers_do(row):
    system = row.system

    def make(model, children=None, **values):
        return entity_create(
            model=model, system=system, actor=None, values=values, children=children
        )

    stream = make(Stream, name="s", number=0)
    news, local = (Topic.objects.get(system=system, name=name) for name in ("news", "local"))
    wants = {"interests": [{"topic": news}, {"topic": local}]}
    for number, letter in enumerate("ddb"):
        make(Subscriber, wants, name=f"desk-{number}", broker=row.brokers[letter])
    make(Subscriber, wants, name="desk-nowhere")
    entity_update(
        instance=news, actor=None, expected_version=news.version, values={"stream": stream}
    )
    # A stream without a group is sent nowhere.
    assert traffic_now(row.fresh()).subscribers == {"news": {"e": 10}, "local": {"c": 10}}
    group = make(Group, name="g", number=0)
    entity_update(
        instance=stream, actor=None, expected_version=stream.version, values={"group": group}
    )
    modelled = traffic_now(row.fresh())
    assert modelled.subscribers == {"news": {"e": 10, "d": 2, "b": 1}, "local": {"c": 10}}
    assert modelled.pairs() == {("a", n): 100.0 for n in "edb"} | {("b", "c"): 10.0}
    measure(
        row,
        a={"flows": {"news": {"passed_per_s": 30.0}}},
        e={"classes": {"readers-news": {"admitted": 4, "delivered_per_s": 120.0}}},
    )
    (topic,) = traffic_now(row.system).topics
    assert topic.interested == {"e": 120.0, "d": 60.0, "b": 30.0}


def test_a_sample_that_contradicts_itself_loads_no_broker(row):
    sent = {"flows": {"news": {"passed_per_s": 30.0}}}
    heard = {"classes": {"readers-news": {"admitted": 4, "delivered_per_s": 120.0}}}
    measure(row, a=sent, e=heard)
    burst = {"classes": {"readers-news": {"admitted": 4, "delivered_per_s": 166_724.0}}}
    at_e = telemetry_checked({**burst, "broker": {"out_msgs_per_s": 136.0}})
    Sample.objects.create(broker=row.brokers["e"], at=timezone.now(), payload=at_e)
    (news,) = [t for t in traffic_now(row.system).topics if t.topic == "news"]
    assert news.interested == {"e": 120.0}


def test_a_second_in_which_a_rate_was_not_measured_is_no_silence(row):
    sent = {"flows": {"news": {"passed_per_s": 30.0}}}
    heard = {"classes": {"readers-news": {"admitted": 4, "delivered_per_s": 120.0}}}
    measure(row, a=sent, e={"classes": {"readers-news": {"admitted": 4}}})
    measure(row, a=sent, e=heard)
    (news,) = [t for t in traffic_now(row.system).topics if t.topic == "news"]
    assert news.interested == {"e": 120.0}


def test_a_broker_that_contradicts_itself_all_the_time_measures_nothing(row):
    measure(row)
    Sample.objects.filter(broker=row.brokers["c"]).update(payload={"suspect": "It cannot be."})
    reading = traffic_now(row.system)
    assert reading.source == TrafficSource.MODEL
    assert "c measures nothing now" in reading.detail


def test_one_silent_broker_makes_the_model_speak(row):
    measure(row)
    Sample.objects.filter(broker=row.brokers["c"]).delete()
    reading = traffic_now(row.system)
    assert reading.source == TrafficSource.MODEL
    assert "c measures nothing now" in reading.detail


def test_snapshot_holds_overlay_links_and_traffic(row, admin):
    evaluation = evaluation_request(system=row.system, actor=admin, goals=[row.goal])
    frozen = json.loads(bytes(evaluation.run.snapshot.payload))
    assert frozen["today"] == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    latency = {(x["a"], x["b"]): x["latency_s"] for x in frozen["links"]}
    assert latency["a", "b"] == 0.01
    assert latency["a", "e"] == pytest.approx(0.04)  # the way over the links that are known
    assert {t["topic"]: t["published"] for t in frozen["traffic"]} == {
        "news": {"a": 100.0},
        "local": {"b": 10.0},
    }
    assert evaluation.run.snapshot.model_version == row.fresh().model_version
    assert evaluation.run.parameters["goals"] == {
        "short": [["a", "b"], ["a", "e"], ["b", "c"], ["c", "d"]]
    }


def test_request_is_accepted_with_its_run(api, row):
    answer = post(
        api,
        {
            "system": str(row.system.public_id),
            "goals": [str(row.goal.public_id)],
            "seeds": [1, 2],
            "options": {"max_degree": 3},
            "note": "Singapore is slow",
        },
    )
    assert answer.status_code == 202, answer.json()
    body = answer.json()
    assert answer.headers["Location"] == f"/api/v1/overlay-evaluations/{body['id']}"
    assert (body["name"], body["state"], body["overlay_name"]) == ("O-1", "queued", "v1")
    assert body["current"] is True
    assert body["options"] == {"max_degree": 3}
    assert body["traffic"]["source"] == "model"
    assert body["allowed_commands"] == ["cancel"]
    run = Run.objects.get(public_id=body["run"])
    assert (run.kind, run.seed) == ("overlay", 1)
    entry = AuditEntry.objects.get(object_kind="overlay_evaluation")
    assert (entry.action, str(entry.object_id)) == ("start", body["id"])
    shown = api.get(f"/api/v1/runs/{body['run']}").json()
    assert shown["overlay_evaluation"] == body["id"]


def test_same_idempotency_key_asks_once(api, row):
    body = {"system": str(row.system.public_id)}
    first, second = (post(api, body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    assert Evaluation.objects.count() == 1


def test_system_without_an_overlay_is_refused_with_the_next_move(api):
    answer = post(api, {"system": str(make_system("empty").public_id)})
    assert (answer.status_code, answer.json()["code"]) == (409, "no_overlay_in_force")


def test_goal_that_frozen_parts_forbid_is_refused(api, row):
    for frozen, named in ((["e"], '"e" is frozen'), ([["d", "e"]], "d-e is frozen")):
        answer = post(
            api,
            {
                "system": str(row.system.public_id),
                "goals": [str(row.goal.public_id)],
                "options": {"frozen": frozen},
            },
        )
        assert answer.status_code == 422
        body = answer.json()
        assert body["code"] == "invalid_problem"
        assert body["errors"][0]["field"] == "goals[0]"
        assert named in body["errors"][0]["message"]
    assert not Evaluation.objects.exists()


def test_goals_over_different_brokers_are_refused(api, row):
    extra = {**row.brokers, "f": make_broker(row.system, "f")}
    wider = make_tree(row.system, extra, "wider", ("ab", "bc", "cd", "de", "ef"), purpose="goal")
    goals = [str(goal.public_id) for goal in (row.goal, wider)]
    answer = post(api, {"system": str(row.system.public_id), "goals": goals})
    assert (answer.status_code, answer.json()["code"]) == (422, "goals_differ")
    assert "f" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("member", "field"),
    [
        ({"methods": [{"name": "magic"}]}, "methods[0].name"),
        ({"planners": [{"name": "magic"}]}, "planners[0].name"),
        ({"options": {"max_degree": 1}}, "options.max_degree"),
        ({"options": {"frozen": ["x"]}}, "options.frozen[0]"),
        ({"options": {"colour": "red"}}, "options"),
        ({"weights": {"per_second": -1}}, "weights.per_second"),
        ({"horizon_s": 0}, "horizon_s"),
        ({"window_s": 3600}, "window_s"),
        ({"seeds": []}, "seeds"),
        ({"goals": ["00000000-0000-4000-8000-000000000000"]}, "goals"),
    ],
)
def test_what_does_not_fit_names_its_field(api, row, member, field):
    answer = post(api, {"system": str(row.system.public_id), **member})
    assert answer.status_code in (400, 422)
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Evaluation.objects.exists()


def test_viewer_reads_and_does_not_ask(row, as_role):
    evaluation_request(system=row.system, actor=None)
    viewer = as_role(Role.VIEWER)
    listed = viewer.get(f"/api/v1/overlay-evaluations?system={row.system.public_id}").json()
    assert [each["allowed_commands"] for each in listed["results"]] == [[]]
    assert post(viewer, {"system": str(row.system.public_id)}).status_code == 403


def test_evaluation_is_cancelled_and_asked_again(api, row, admin):
    evaluation = evaluation_request(system=row.system, actor=admin)
    path = f"/api/v1/overlay-evaluations/{evaluation.public_id}"
    assert api.post(f"{path}/rerun").json()["code"] == "run_is_active"
    stopped = api.post(f"{path}/cancel")
    assert (stopped.status_code, stopped.json()["state"]) == (202, "cancelled")
    again = api.post(f"{path}/rerun")
    assert (again.status_code, again.json()["state"]) == (202, "queued")
    assert again.json()["run"] != stopped.json()["run"]


def test_traffic_shows_pairs_links_and_brokers(api, row):
    traffic = api.get(f"/api/v1/systems/{row.system.public_id}/traffic").json()
    assert traffic["source"] == "model"
    assert traffic["overlay_name"] == "v1"
    assert traffic["traffic_per_s"] == pytest.approx(4 * 100 + 10)
    assert traffic["in_flight"] == pytest.approx(410 * 0.01)
    assert traffic["pairs"][0] == {"source": "a", "target": "e", "rate_per_s": 100.0}
    at = {each["broker"]: each for each in traffic["brokers"]}
    assert (at["c"]["relayed_per_s"], at["c"]["received_per_s"]) == (100.0, 10.0)
    assert at["e"]["delivered_per_s"] == 1000.0
    links = {(each["a"], each["b"]): each for each in traffic["links"]}
    assert links["b", "c"]["traffic_per_s"] == pytest.approx(110.0)
    assert links["b", "c"]["measured_per_s"] is None


def test_planners_and_methods_describe_their_parameters(api):
    for path in ("topology-planners", "topology-methods"):
        rows = api.get(f"/api/v1/{path}").json()["results"]
        assert rows
        assert {"name", "title", "summary", "parameters"} <= rows[0].keys()
