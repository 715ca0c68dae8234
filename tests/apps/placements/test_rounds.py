"""POST /placements/{id}/again: what was measured is judged, frozen, and placed again by."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.domain.roles import Role
from apps.catalog.models import Publisher, Slo, Topic
from apps.executions.models import Setting
from apps.placements.models import Placement
from apps.placements.services import placement_again
from apps.runs.models import OPENED, Run
from apps.runs.selectors import run_explanation
from apps.runs.services.computations import run_again, run_store
from apps.systems.services import entity_update
from apps.telemetry.models import Agent, Sample
from apps.telemetry.services import agent_revoke
from apps.topology.models import Broker
from tests.apps.placements.rounds import (
    ADDRESS,
    again,
    ask,
    frozen,
    make_pinned,
    measured,
    place_pinned,
    refusal,
    rounds_of,
)
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Loop, enrol
from tests.factories.runs import claim
from tests.factories.streets import (
    Streets,
    carry_from,
    enforce,
    kernel_answer,
    place,
    profile,
    profiled_part,
    put_in_force,
    report,
    unbounded,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def streets() -> Streets:
    return make_pinned()


@pytest.fixture
def placement(streets: Streets) -> Placement:
    return place_pinned(streets)


def test_what_was_measured_is_frozen_with_the_topic_of_now(api, streets, placement):
    measured(streets, b2=unbounded())
    publisher = streets.publisher("s03")
    entity_update(
        instance=publisher,
        actor=None,
        expected_version=publisher.version,
        values={"rate_per_s": 20.0},
    )
    answer = ask(api, placement, note="After a day")
    assert answer.status_code == 202, answer.content
    run = Run.objects.get(public_id=answer.json()["id"])
    assert answer.headers["Location"] == f"/api/v1/runs/{run.public_id}"
    assert (run.kind, run.method, run.parameters, run.seed) == ("placement", "srtm", {}, 7)
    assert run.events.get(command=OPENED).note == "After a day"
    plain = frozen(run)
    assert plain["measured_of"] == str(placement.public_id)
    assert plain["measured"]["b1"] == {
        "messages": 18_000,
        "seconds": 60.0,
        "delay": {"p99_s": 0.03, "low_s": 0.9 * 0.03, "high_s": 1.1 * 0.03},
        "processing": {"p99_s": 0.004, "low_s": 0.9 * 0.004, "high_s": 1.1 * 0.004},
    }
    little = plain["measured"]["b2"]
    assert (little["messages"], little["seconds"]) == (40, 8.0)
    assert (little["delay"]["high_s"], little["processing"]["high_s"]) == (None, None)
    brokers = {row["id"]: row for row in plain["brokers"]}
    assert [name for name, row in brokers.items() if row["drained"]] == ["b3"]
    assert not any("speed" in row for row in brokers.values())
    assert {row["id"]: row["rate"] for row in plain["publishers"]}["s03"] == 20.0
    listed = {
        name: row.target["broker"]
        for row in Setting.objects.filter(kind="assign_publishers")
        for name in row.in_force["publishers"]
        if name != "silent"
    }
    assert plain["previous"] == listed, "where the lists have them, not the catalogue"


def test_the_next_round_is_based_on_the_one_measured(api, streets, placement):
    measured(streets, b1=profile(p99_s=0.2, own_p99_s=0.19))
    following = again(placement)
    assert (placement.round, placement.based_on) == (1, None)
    assert (following.round, following.based_on) == (2, placement)
    body = api.get(f"{ADDRESS}/{following.public_id}").json()
    assert body["based_on"] == {"id": str(placement.public_id), "name": str(placement)}
    assert body["round"] == 2
    assert body["outcome"] == following.outcome
    assert body["outcome"]["measured"]["of"] == str(placement.public_id)
    verdicts = {row["broker"]: row for row in body["outcome"]["measured"]["brokers"]}
    assert (verdicts["b1"]["verdict"], verdicts["b1"]["cause"]) == ("missed", "processing")
    assert verdicts["b2"]["verdict"] == "kept"
    first = api.get(f"{ADDRESS}/{placement.public_id}").json()
    assert (first["round"], first["based_on"], first["outcome"]["measured"]) == (1, None, None)
    rows = api.get(ADDRESS).json()["results"]
    assert [(row["name"], row["round"]) for row in rows] == [("L-2", 2), ("L-1", 1)]


def test_speeds_that_rounds_before_showed_are_frozen_too(streets, placement):
    measured(streets)
    following = again(placement)
    fitted = {
        row["broker"]: row["speed_per_s"]
        for row in following.outcome["measured"]["brokers"]
        if row["fitted"]
    }
    assert fitted.keys() == {"b1", "b2"}
    assert following.moved == 0, "all keep the target, and stay: it is in force as it is"
    plain = frozen(placement_again(placement=following, actor=None))
    assert plain["measured_of"] == str(following.public_id)
    speeds = {row["id"]: row.get("speed") for row in plain["brokers"]}
    assert speeds == {**fitted, "b3": None}, "b3 was never measured"


def test_a_rerun_is_based_on_the_same(streets, placement, admin):
    measured(streets)
    following = again(placement)
    run = claim(run_again(run=following.run, actor=admin))
    run_store(run, kernel_answer(run))
    twin = Placement.objects.get(run=run)
    assert (twin.round, twin.based_on) == (2, placement)


def test_what_is_not_in_force_was_not_measured(api, streets):
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    measured(streets)
    code, detail = refusal(api, placement)
    assert code == "not_in_force"
    assert detail.startswith("The parts of L-1 are not those in force for sensors. Plan it")
    assert not Run.objects.exclude(pk=placement.run.pk).exists()


def test_a_sample_of_the_part_before_says_nothing_of_this_one(api, streets, placement):
    """An agent shows a part to be in force before its next sample is of it."""
    former = {"profile_rate_per_s": 1.0, "profile_size": 2.0, "profile_publishers": 3}
    measured(streets, b1={**profile(), **former}, b2={**profile(), "profile_publishers": 1})
    code, detail = refusal(api, placement)
    assert code == "not_measured"
    assert detail.startswith("Nothing of sensors was measured yet at b1, b2")


@pytest.mark.parametrize(
    "nonsense",
    [
        *({"profile_s": 1e308}, {"profile_s": 5e-324}, {"profile_s": 1e100}),
        *({"profile_messages": 1e300}, {"profile_messages": 1e15}, {"profile_p99_s": 1e300}),
        *({"profile_p99_low_s": 1.0}, {"profile_own_p99_s": 1e12}),
    ],
)
def test_nothing_is_taken_of_nonsense(api, streets, placement, nonsense):
    measured(streets, b1={**profile(), **nonsense}, b2={**unbounded(), **nonsense})
    assert refusal(api, placement)[0] == "not_measured"
    (row,) = rounds_of(api, placement)["results"]
    assert row["measured"] is None


def test_rounds_are_judged_by_what_was_promised_then_and_the_last_by_what_is_now(
    api, streets, placement
):
    measured(streets, b1=profile(p99_s=0.03), b2=profile(p99_s=0.03))
    Slo.objects.filter(quantity="delay_p99_s").update(target=0.02)
    (row,) = rounds_of(api, placement)["results"]
    assert (row["slo_p99_s"], row["measured"]["meets"]) == (0.02, False), "it is promised now"
    again(placement)
    Setting.objects.filter(system=streets.system, kind="set_bucket").delete()
    first, second = rounds_of(api, placement)["results"]
    assert (first["slo_p99_s"], first["measured"]["meets"]) == (0.05, True)
    shares = {share["broker"]: share for share in placement.outcome["shares"]}
    for one in first["measured"]["brokers"]:
        assert one["predicted_p99_s"] == shares[one["broker"]]["p99_s"]
        assert one["fitted"] is True
    assert second["slo_p99_s"] == 0.02


def test_what_is_only_counted_was_not_measured(api, streets, placement):
    rows = Setting.objects.filter(system=streets.system, kind="set_bucket")
    for row in rows:
        row.in_force |= {"mode": "count"}
        row.save()
    measured(streets)
    code, detail = refusal(api, placement)
    assert code == "not_in_force"
    assert detail.startswith("The parts of L-1 are only counted. Plan it again to enforce them")


def test_lists_of_another_placement_are_not_this_one(api, streets, placement):
    measured(streets)
    lets_in = {
        row.target["broker"]: set(row.in_force["publishers"])
        for row in Setting.objects.filter(kind="assign_publishers")
    }
    b1, b2 = lets_in["b1"], lets_in["b2"]
    assert "silent" in b1
    lists = {"b1": b1 - {"silent"}, "b2": b2 | {"silent", "newcomer"}}
    enforce(streets, listed(lists), "assign_publishers")
    assert not rounds_of(api, placement)["can_place_again"], "that was of other lists"
    measured(streets)
    assert rounds_of(api, placement)["can_place_again"], "neither is placed by it"
    lists = {"b1": b1 - {"s02"}, "b2": b2 | {"s02"}}
    enforce(streets, listed(lists), "assign_publishers")
    code, detail = refusal(api, placement)
    assert code == "not_in_force"
    assert detail.startswith("Brokers let in other publishers of sensors than L-1 places there.")


def listed(lists: dict[str, set[str]]) -> dict[str, dict[str, Any]]:
    return {broker: {"publishers": sorted(names)} for broker, names in lists.items()}


def test_parts_alone_do_where_the_topic_has_no_lists(api, streets, placement):
    Setting.objects.filter(kind="assign_publishers").delete()
    measured(streets)
    assert ask(api, placement).status_code == 202


def test_a_source_that_is_closed_belongs_to_no_placement(api, streets):
    carry_from(streets, "b4")
    placement = place(streets)
    put_in_force(streets, placement)
    closed = Setting.objects.get(kind="set_bucket", target__broker="b4").in_force
    assert closed["rate_per_s"] == 0.0
    measured(streets, b3=profile())
    assert ask(api, placement).status_code == 202


def test_nothing_is_measured_yet(api, streets, placement):
    code, detail = refusal(api, placement)
    assert (code, detail) == ("not_measured", "No agent reports from b1, b2.")
    report(streets, "b1", passed_per_s=300.0)
    code, detail = refusal(api, placement)
    assert code == "not_measured"
    assert detail.startswith("Nothing of sensors was measured yet at b1: messages have to pass")
    assert detail.endswith("No agent reports from b2.")


def test_too_little_is_measured_to_bound_anything(api, streets, placement):
    measured(streets, b1=unbounded(), b2=unbounded(profile_messages=2_100, profile_s=7.0))
    assert refusal(api, placement) == (
        "not_measured",
        "Too little is measured to bound what 1 % of the messages of sensors wait longer than: "
        "2,100 messages in 7 seconds at b2, and fewer elsewhere. What they take still changes too "
        "much from one minute to the next. Measure on.",
    )
    (row,) = rounds_of(api, placement)["results"]
    assert {one["verdict"] for one in row["measured"]["brokers"]} == {"inconclusive"}
    measured(streets, b1=unbounded(), b2=unbounded(profile_messages=500, profile_s=10.0))
    assert (
        "It takes 2,000 messages at least: measure for 30 seconds more"
        in (rounds_of(api, placement)["because"])
    )


def test_parts_that_follow_the_traffic_are_not_the_placement_s(api, streets, placement):
    moved = {"profile_rate_per_s": 1.0, "profile_size": 2.0}
    measured(streets, b1={**profile(), **moved}, b2={**profile(), **moved})
    controlled = {"rate_per_s": 1.0, "size": 2.0, "mode": "enforce"}
    Setting.objects.filter(kind="set_bucket").update(controlled=controlled)
    code, detail = refusal(api, placement)
    assert (code, "follow its traffic" in detail) == ("not_measured", True)


def test_a_mean_that_is_missed_is_a_miss_and_is_frozen(api, streets, placement):
    measured(streets, b1=profile(mean_s=0.02), b2=profile(mean_s=0.002))
    (row,) = rounds_of(api, placement)["results"]
    assert row["measured"]["meets"] is True, "nothing is promised of the mean"
    before = frozen(placement_again(placement=placement, actor=None))
    assert "slo_mean_s" not in before["topic"]
    assert all("mean" not in each for each in before["measured"].values())
    Slo.objects.filter(quantity="delay_p50_s").update(quantity="delay_mean_s", target=0.01)
    (row, *_) = rounds_of(api, placement)["results"]
    assert (row["slo_mean_s"], row["predicted_mean_s"]) == (0.01, placement.mean_s)
    assert [one["verdict"] for one in row["measured"]["brokers"]] == ["missed", "kept"]
    run = claim(placement_again(placement=placement, actor=None))
    plain = frozen(run)
    assert plain["topic"]["slo_mean_s"] == 0.01
    assert plain["measured"]["b1"]["mean"] == {
        **{"mean_s": 0.02, "low_s": 0.9 * 0.02, "high_s": 1.1 * 0.02}
    }
    run_store(run, kernel_answer(run))
    after = Placement.objects.get(run=run)
    assert after.outcome["measured"]["meets"] is False
    detail = api.get(f"{ADDRESS}/{after.public_id}").json()
    assert [one["mean_s"] for one in detail["outcome"]["measured"]["brokers"]] == [0.02, 0.002]


def test_agents_that_know_no_interval_of_the_mean_leave_it_open(api, streets, placement):
    older = profile()
    del older["profile_mean_low_s"], older["profile_mean_high_s"]
    measured(streets, b1=older, b2=profile())
    Slo.objects.filter(quantity="delay_p50_s").update(quantity="delay_mean_s", target=0.01)
    (row,) = rounds_of(api, placement)["results"]
    assert [one["mean_s"] for one in row["measured"]["brokers"]] == [None, 0.001]
    assert [one["verdict"] for one in row["measured"]["brokers"]] == ["inconclusive", "kept"]


def test_placements_that_are_older_than_the_mean_and_recorded_buckets_are_shown(
    api, streets, placement
):
    outcome = placement.outcome
    for each in [outcome, outcome["contract"], outcome["today"], *outcome["shares"]]:
        each.pop("mean_s", None)
        each.pop("slo_mean_s", None)
        each.pop("recorded_bucket", None)
    Placement.objects.filter(pk=placement.pk).update(outcome=outcome, mean_s=None)
    measured(streets)
    (row,) = rounds_of(api, placement)["results"]
    assert row["measured"]["brokers"][0]["predicted_mean_s"] is None
    detail = api.get(f"{ADDRESS}/{placement.public_id}").json()
    assert detail["outcome"]["contract"]["slo_mean_s"] is None
    assert detail["outcome"]["contract"]["recorded_bucket"] is None
    assert detail["outcome"]["shares"][0]["mean_s"] is None


def test_a_broker_that_cannot_follow_is_enough(api, streets, placement):
    """What it takes grows as long as it is measured: it has no bound, and misses all the same."""
    drifting = unbounded(profile_p99_s=9.0, profile_p99_low_s=8.0)
    measured(streets, b1=drifting, b2=unbounded())
    assert ask(api, placement).status_code == 202
    (row, *_) = rounds_of(api, placement)["results"]
    assert row["measured"]["meets"] is False


def test_what_silent_agents_said_is_not_used(api, streets, placement, admin):
    measured(streets)
    Agent.objects.filter(broker__name="b1").update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )
    assert frozen(placement_again(placement=placement, actor=None))["measured"].keys() == {"b2"}
    agent_revoke(agent=Agent.objects.get(broker__name="b2"), actor=admin)
    assert refusal(api, placement) == ("not_measured", "No agent reports from b1, b2.")


def test_old_samples_and_such_as_contradict_themselves_are_not_used(api, streets, placement):
    measured(streets)
    old = Sample.objects.get(broker__name="b1")
    Sample.objects.filter(pk=old.pk).update(at=old.at - timedelta(seconds=30))
    doubted = Sample.objects.get(broker__name="b2")
    doubted.payload |= {"suspect": "Its classes were given more than it sent."}
    doubted.save()
    assert refusal(api, placement) == ("not_measured", "No agent reports from b1, b2.")


def test_what_other_topics_and_brokers_measure_is_not_of_the_placement(streets, placement):
    measured(streets, b3=profile())
    assert frozen(placement_again(placement=placement, actor=None))["measured"].keys() == {
        *("b1", "b2")
    }


def test_a_topic_that_was_deleted_is_not_placed_again(api, streets, placement):
    measured(streets)
    Publisher.objects.filter(topic=streets.topic).delete()
    streets.topic.delete()
    placement.refresh_from_db()
    code, detail = refusal(api, placement)
    assert code == "nothing_to_place"
    assert detail == ("sensors, whose publishers L-1 places, was deleted. Place another topic.")


def test_the_contract_of_now_is_placed(streets, placement):
    measured(streets)
    topic = Topic.objects.get(pk=streets.topic.pk)
    entity_update(
        instance=topic, actor=None, expected_version=topic.version, values={"token_bucket": 90.0}
    )
    assert frozen(placement_again(placement=placement, actor=None))["topic"]["bucket"] == 90.0


def test_brokers_without_a_publish_rate_are_left_out(api, streets, placement):
    measured(streets, b1=unbounded())
    Broker.objects.filter(name="b3").update(publish_rate_max_per_s=None)
    plain = frozen(placement_again(placement=placement, actor=None))
    assert [row["id"] for row in plain["brokers"]] == ["b1", "b2"], "b3 was drained"
    Publisher.objects.filter(name="s09").update(pinned=False)
    Broker.objects.filter(name="b2").update(publish_rate_max_per_s=None)
    answer = ask(api, placement)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_measured")
    assert "no publish rate is left" in answer.json()["detail"]


def test_an_answer_that_leaves_measurements_out_is_not_kept(streets, placement):
    measured(streets)
    run = claim(placement_again(placement=placement, actor=None))
    plain = json.loads(kernel_answer(run)) | {"measured": None}
    with pytest.raises(ValueError, match="by other measurements"):
        run_store(run, json.dumps(plain).encode())


def test_brokers_that_proved_to_be_slow_leave_less_room(streets, placement):
    """Each was sent 100 msg/s beside what other topics send, and is hardly faster."""
    slow = profile(p99_s=0.5, own_p99_s=0.45, profile_messages=6_000)
    measured(streets, b1=slow, b2=slow)
    run = claim(placement_again(placement=placement, actor=None))
    run_store(run, kernel_answer(run))
    run.refresh_from_db()
    assert run.state == "infeasible"
    explained = run_explanation(run)
    assert explained is not None
    assert explained["next_moves"] == [
        "Add 1 broker that takes 407 msg/s, or make b1, b2 faster: measured, less is taken there "
        "than the publish rate says.",
        "Do not drain b3: there is room for 165 msg/s.",
    ]
    rooms = {row["broker"]: row for row in explained["rooms"]}
    assert (rooms["b2"]["max_rate_per_s"], rooms["b2"]["rate_per_s"]) == (1000.0, 100.0)
    assert rooms["b2"]["room_per_s"] < 50.0


def test_again_is_asked_once_for_one_key_and_by_those_who_may(api, streets, placement):
    measured(streets)
    address = f"{ADDRESS}/{placement.public_id}/again"
    answers = [api.post(address, {}, format="json", HTTP_IDEMPOTENCY_KEY="k") for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    viewer = client_of(make_user("looks-on", Role.VIEWER))
    assert ask(viewer, placement).status_code == 403
    assert viewer.get(f"{ADDRESS}/{placement.public_id}").json()["allowed_commands"] == []
    assert len(rounds_of(viewer, placement)["results"]) == 1
    editor = client_of(make_user("edits", Role.EDITOR))
    shown = editor.get(f"{ADDRESS}/{placement.public_id}").json()["allowed_commands"]
    assert "again" in shown
    assert ask(editor, placement).status_code == 202


def test_members_that_are_unknown_are_refused(api, placement):
    answer = ask(api, placement, method="srtm")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "method")


@pytest.fixture
def loop(transactional_db: None) -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.mark.django_db(transaction=True)
def test_what_agents_report_over_http_is_placed_by(loop):
    streets = make_pinned()
    placement = place(streets, drained_brokers=[streets.brokers["b3"]])
    put_in_force(streets, placement)
    for name in ("b1", "b2"):
        agent = enrol(loop, streets.brokers[name]).come()
        flow = {**profiled_part(streets, name), **profile(p99_s=0.02)}
        telemetry = {"interval_s": 1.0, "flows": {"sensors": flow}}
        assert agent.say(telemetry=telemetry).status_code == 200
    following = again(placement)
    assert following.outcome["measured"]["meets"] is True
    assert {row["p99_s"] for row in following.outcome["measured"]["brokers"]} == {0.02}
